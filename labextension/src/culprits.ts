/** The culprit view in an element: drawn anew when something has been decided or done. */
import { ANSWERS, told, type Requests, type Standing } from './crashing';
import { standing } from './shown';
import { CulpritView } from './view/culpritview';

export const culprits = standing<Requests, typeof ANSWERS, Standing>(ANSWERS, CulpritView, told, now => now.change);
