/** The datasets view in an element. */
import { ANSWERS, type Requests } from './feeding';
import { asked } from './shown';
import { DatasetsView } from './view/datasetsview';

export const datasets = asked<Requests, typeof ANSWERS>(ANSWERS, DatasetsView);
