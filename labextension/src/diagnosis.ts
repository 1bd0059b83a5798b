/** The localization view in an element: drawn anew when the search has gone on. */
import { ANSWERS, stands, type Requests, type Standing } from './diagnosing';
import { standing } from './shown';
import { DiagnosisView } from './view/diagnosisview';

export const diagnosis = standing<Requests, typeof ANSWERS, Standing>(ANSWERS, DiagnosisView, stands, now => now.at);
