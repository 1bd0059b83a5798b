/** The view of a watch in an element. */
import { asked } from './shown';
import { WatchView } from './view/watchview';
import { ANSWERS, type Requests } from './watching';

export const watch = asked<Requests, typeof ANSWERS>(ANSWERS, WatchView);
