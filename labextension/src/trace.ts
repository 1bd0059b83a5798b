/** The trace view in an element: drawn anew when the view has moved. */
import { standing } from './shown';
import { ANSWERS, moved, type Requests, type Standing } from './tracing';
import { TraceView } from './view/traceview';

export const trace = standing<Requests, typeof ANSWERS, Standing>(ANSWERS, TraceView, moved, now => now.change);
