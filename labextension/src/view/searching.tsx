/** A search that runs, or has not begun: how far it is, and a button that ends it. */
import { useEffect, useState } from 'preact/hooks';
import type { Ask, Progress, Standing } from '../diagnosing';
import { refusal, type Refused } from '../payload';
import { CourseChart } from './coursechart';
import { Wrong } from './frame';
import { Notice } from './notice';
import { counted, number, seconds } from './words';

/** Milliseconds. */
const QUIET = 5_000;

export interface SearchingProps {
  readonly ask: Ask;
  readonly standing: Standing;
}

export function Searching({ ask, standing }: SearchingProps) {
  const { progress } = standing;
  const quiet = useQuiet(standing.at);
  if (progress === null) {
    return (
      <Notice what="The localization has not begun.">
        <p>
          <code>dbg.localize(…, search=search)</code> begins it, and this view shows how far it is.
        </p>
      </Notice>
    );
  }
  return (
    <>
      <header>
        <span class="bd-summary">
          {progress.number === 0
            ? 'Localizing…'
            : `Localizing: output ${number(progress.number)} of ${number(progress.outputs)}`}
          {progress.output !== '' && (
            <bdi class="bd-output" dir="ltr">
              {progress.output}
            </bdi>
          )}
        </span>
        <Stop ask={ask} stopping={standing.stopping} />
      </header>
      <p class="bd-note bd-step">
        {sentence(progress.step)}
        {quiet && ' Nothing has been heard of it for some seconds: the kernel may be gone.'}
      </p>
      <Figures progress={progress} />
      <CourseChart course={standing.course} until={progress.seconds} />
    </>
  );
}

/** Whether nothing has been told for some seconds, though a search that runs tells of its time. */
function useQuiet(at: number): boolean {
  const [since, setSince] = useState(-1);
  useEffect(() => {
    const timer = setTimeout(() => {
      setSince(at);
    }, QUIET);
    return () => {
      clearTimeout(timer);
    };
  }, [at]);
  return since === at;
}

/** What has been done, and what is known by now. */
function Figures({ progress }: { progress: Progress }) {
  const { tests, candidates, left, faults, explained, outputs } = progress;
  const better = left > 0 && left < candidates;
  return (
    <ul class="bd-figures">
      <Figure name="tests" value={number(tests)} />
      <Figure name="time" value={seconds(progress.seconds)} />
      {progress.number > 0 && (
        <>
          <Figure name="candidates" value={number(candidates)} />
          <Figure
            name="best so far"
            value={better ? counted(left, 'record') : '–'}
            title={
              better
                ? `Without ${counted(left, 'record')}, the output is right`
                : 'No fewer candidates than all are known without which the output is right'
            }
          />
          <Figure
            name="explained"
            value={`${number(explained)} of ${counted(outputs, 'output')}`}
            title={`${counted(faults, 'fault')} found`}
          />
        </>
      )}
    </ul>
  );
}

function Figure({ name, value, title }: { name: string; value: string; title?: string }) {
  return (
    <li title={title}>
      <span class="bd-facts">{name}</span>
      <span class="bd-figure">{value}</span>
    </li>
  );
}

function Stop({ ask, stopping }: { ask: Ask; stopping: boolean }) {
  const [pressed, press] = useState(false);
  const [problem, setProblem] = useState<Refused | null>(null);
  const stop = (): void => {
    press(true);
    setProblem(null);
    ask('stop', {}).catch((why: unknown) => {
      press(false);
      setProblem(refusal(why));
    });
  };
  return (
    <span class="bd-stopping">
      {pressed && !stopping && (
        <span class="bd-late">The kernel has not heard it yet; an interruption ends the search as well.</span>
      )}
      <button type="button" class="bd-stop" disabled={pressed || stopping} onClick={stop}>
        {pressed || stopping ? 'Stopping…' : 'Stop'}
      </button>
      {problem !== null && <Wrong why={problem} />}
    </span>
  );
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}
