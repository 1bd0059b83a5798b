/** The replay view in an element. */
import { ANSWERS, type Requests } from './comparing';
import { asked } from './shown';
import { ComparisonView } from './view/comparisonview';

export const comparison = asked<Requests, typeof ANSWERS>(ANSWERS, ComparisonView);
