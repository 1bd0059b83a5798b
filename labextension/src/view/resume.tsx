/** What was decided, the run resumed with it, and what came of that. */
import type { Ask, Ended, Standing } from '../crashing';
import type { During } from './useduring';
import { Expected } from './forecast';
import { Notice } from './notice';
import { ResultPage } from './resultpage';
import { Value } from './value';
import { counted, number, seconds } from './words';

export interface ResumeProps {
  readonly ask: Ask;
  readonly standing: Standing;
  readonly busy: boolean;
  readonly during: During;
}

export function Resume({ ask, standing, busy, during }: ResumeProps) {
  const { doing, problem, resumed } = standing;
  const parts = doing === null ? null : share(doing);
  return (
    <section class="bd-resume" aria-label="Resume">
      <Decided ask={ask} standing={standing} busy={busy} during={during} />
      {doing !== null && (
        <div class="bd-doing" role="status">
          {parts === null ? (
            <progress aria-label={doing.what} />
          ) : (
            <progress aria-label={doing.what} value={parts.done} max={parts.of} />
          )}
          <span>
            {`${doing.what === 'resuming' ? 'Resuming' : 'Looking for culprits'}: ${seconds(doing.seconds)}`}
            {parts !== null
              ? `, ${number(parts.done)} of ${counted(parts.of, 'task')} ended`
              : doing.tasks !== null && `, ${counted(doing.tasks, 'task')} ended`}
          </span>
          <button
            type="button"
            disabled={busy}
            onClick={() => {
              void during(ask('stop', {}));
            }}
          >
            Stop
          </button>
        </div>
      )}
      {problem !== null && (
        <Notice what={problem.what.join('\n')} wrong>
          <p>{problem.remedy}</p>
        </Notice>
      )}
      {resumed !== null && doing === null && <Outcome ask={ask} resumed={resumed} />}
    </section>
  );
}

/** How much is done of what there is to do, where that is known: of tasks that failed and ran again there may be more. */
function share({ tasks, of }: NonNullable<Standing['doing']>): { done: number; of: number } | null {
  return tasks === null || of === null || of === 0 || tasks > of ? null : { done: tasks, of };
}

function Decided({ ask, standing, busy, during }: ResumeProps) {
  const { decided, all, complete, refused, doing, forecast, resumed } = standing;
  const ready = refused === null && doing === null && decided.open === 0 && (complete || all);
  const why =
    refused ?? (decided.open > 0 ? 'The job would crash on what is open as before: skip, repair or fix it.' : null);
  return (
    <>
      <div class="bd-moves">
        <button
          type="button"
          aria-pressed={all && decided.open === 0}
          disabled={busy || doing !== null}
          onClick={() => {
            void during(ask('skip', { of: 'all', at: 0, on: !(all && decided.open === 0) }));
          }}
        >
          {decided.repaired + decided.fixed > 0 ? 'Skip all others' : 'Skip all'}
        </button>
        <button
          type="button"
          class="bd-first"
          disabled={busy || !ready}
          onClick={() => {
            void during(ask('resume', {}));
          }}
        >
          Resume
        </button>
        <span>
          {`${number(decided.repaired)} repaired · ${decided.fixed > 0 ? `${number(decided.fixed)} fixed · ` : ''}${number(decided.skipped)} skipped · ${number(decided.open)} open`}
        </span>
      </div>
      {why !== null && doing === null && <p class="bd-busy">{why}</p>}
      {forecast !== null && doing === null && resumed?.latest !== true && <Expected forecast={forecast} />}
    </>
  );
}

function Outcome({ ask, resumed }: { ask: Ask; resumed: Ended }) {
  const again = resumed.again.length + resumed.more;
  return (
    <>
      {again > 0 && (
        <Notice
          what={`${counted(again, 'record')} that had been repaired or fixed crashed again, and ${again === 1 ? 'is' : 'are'} not in the result.`}
          wrong
        >
          <ul>
            {resumed.again.map((line, at) => (
              <li key={at}>
                <Value text={line} />
              </li>
            ))}
          </ul>
          {resumed.more > 0 && <p>{`and ${counted(resumed.more, 'more record')}`}</p>}
          <p>Repair or fix it otherwise, and resume once more.</p>
        </Notice>
      )}
      <p class="bd-outcome" role="status">
        <strong>{`Resumed in ${seconds(resumed.seconds)}.`}</strong> {recomputed(resumed)}
      </p>
      {!resumed.latest && (
        <p class="bd-busy">This is what an earlier resume gave: what was decided or tried since is not in it.</p>
      )}
      <ResultPage key={resumed.run} run={resumed.run} ask={ask} />
      {resumed.notes.map((note, at) => (
        <p key={at} class="bd-busy">
          {note}
        </p>
      ))}
    </>
  );
}

/** What was computed and what was there already, as far as Spark tells. */
function recomputed({ ran, reused, reached, crashed }: Ended): string {
  const parts =
    ran === null || reused === null ? '' : `${counted(ran, 'partition')} computed, ${number(reused)} reused; `;
  const behind =
    reached === null
      ? ''
      : ` ${counted(reached, 'output')} ${reached === 1 ? 'is' : 'are'} made of what the repaired ones came from.`;
  return `${parts}${counted(crashed, 'record')} crashed as before, and ${crashed === 1 ? 'was' : 'were'} skipped, repaired or fixed.${behind}`;
}
