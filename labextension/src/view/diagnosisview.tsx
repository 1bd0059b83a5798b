/** The localization view: a search while it runs, and then its diagnosis. */
import type { Ask, Diagnosis, Standing } from '../diagnosing';
import { CourseChart } from './coursechart';
import { FaultSet, Ranking, Verdict } from './faultset';
import { Notice } from './notice';
import { Searching } from './searching';
import { Stands } from './standing';
import { counted, number, seconds } from './words';

export interface DiagnosisViewProps {
  readonly ask: Ask;
  /** How the search stands, as it was told last; null if nothing was told. */
  readonly told: Standing | null;
}

export function DiagnosisView({ ask, told }: DiagnosisViewProps) {
  return (
    <Stands kind="diagnosis" look={() => ask('diagnosis', {})} told={told} turn={now => now.at}>
      {standing => <Whole ask={ask} standing={standing} />}
    </Stands>
  );
}

function Whole({ ask, standing }: { ask: Ask; standing: Standing }) {
  if (standing.diagnosis !== null) {
    return <Found ask={ask} standing={standing} diagnosis={standing.diagnosis} />;
  }
  if (standing.error !== null) {
    return (
      <>
        <Notice what={standing.error.what} wrong>
          <p>
            <bdi dir="ltr">{standing.error.remedy}</bdi>
          </p>
        </Notice>
        <Way standing={standing} />
      </>
    );
  }
  return <Searching ask={ask} standing={standing} />;
}

function Found({ ask, standing, diagnosis }: { ask: Ask; standing: Standing; diagnosis: Diagnosis }) {
  return (
    <>
      <header>
        <span class="bd-summary">
          <Verdict verdict={diagnosis.verdict} />
          <bdi dir="ltr">{capital(diagnosis.explanation)}</bdi>
        </span>
        <span class="bd-facts">{`${counted(diagnosis.tests, 'test')}, ${seconds(diagnosis.seconds)}`}</span>
      </header>
      {diagnosis.incomplete !== null && (
        <Notice what={`Not all was looked at: ${diagnosis.incomplete}.`}>
          {diagnosis.faults.length > 0 && standing.stopping && <p>What is below is the best that was known then.</p>}
        </Notice>
      )}
      {diagnosis.faults.map((fault, at) => (
        <FaultSet key={at} ask={ask} fault={fault} at={at} alone={diagnosis.faults.length === 1} />
      ))}
      {diagnosis.left > 0 && (
        <p class="bd-note">{`and ${number(diagnosis.left)} more fault sets: fault_sets has them all`}</p>
      )}
      <Ranking ranking={diagnosis.ranking} />
      <Way standing={standing} />
    </>
  );
}

/** How the search went. */
function Way({ standing }: { standing: Standing }) {
  if (standing.course.length === 0 || standing.progress === null) {
    return null;
  }
  return (
    <details class="bd-went">
      <summary>How the search went</summary>
      <CourseChart course={standing.course} until={standing.progress.seconds} />
    </details>
  );
}

function capital(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}
