/** The panel: what runs the kernel of the open notebook has, or what is missing and what to do. A function of plain data. */
import type { Ask, Phase } from '../connection';
import { keyOf, onlyAsked, type Heard } from '../heard';
import type { RunLine } from '../payload';
import { Notice } from './notice';
import { RunItem, type RunItemProps, type View } from './runitem';
import { WatchFacts, WatchName } from './watchfacts';
import { counted } from './words';

/** All datasets that a kernel knows, in the place of a run. */
export const DATASETS = { id: '', began: null, name: '' } as const;

export interface PanelViewProps {
  /** The name of the open notebook; null if none is open. */
  readonly notebook: string | null;
  /** How it stands with its kernel; null if it has none. */
  readonly phase: Phase | null;
  readonly ask: Ask;
  readonly reveal: RunItemProps['reveal'];
  readonly view: RunItemProps['view'];
  /** The runs that are open, by `keyOf`: they stay so while the panel is out of sight. */
  readonly opened: ReadonlySet<string>;
  readonly toggle: (key: string) => void;
  /** Look again whether bigdebug is there. */
  readonly again: () => void;
}

export function PanelView(props: PanelViewProps) {
  const { notebook } = props;
  return (
    <div class="bd-panel">
      <header>
        <h2>bigdebug</h2>
        {notebook !== null && <bdi class="bd-notebook">{notebook}</bdi>}
      </header>
      <Content {...props} />
    </div>
  );
}

function Content({ notebook, phase, again, ...more }: PanelViewProps) {
  if (notebook === null) {
    return <Notice what="No notebook is open. Open one that uses PySpark: its runs are listed here." />;
  }
  if (phase === null) {
    return <Notice what="This notebook has no kernel. Choose one, for example “Python (bigdebug)”." />;
  }
  switch (phase.is) {
    case 'asking':
      return <Notice what="Asking the kernel…" />;
    case 'dead':
      return (
        <Notice what="The kernel has died, and its runs went with it." wrong>
          <p>Restart the kernel and run the cells again.</p>
        </Notice>
      );
    case 'absent':
      return (
        <Notice what="bigdebug is not loaded in this kernel." wrong>
          <p>
            Run <code>%load_ext bigdebug</code> in a cell, or choose the kernel “Python (bigdebug)”. If that fails,
            bigdebug is not installed where the kernel runs.
          </p>
          <Again again={again} />
        </Notice>
      );
    case 'refused':
      return (
        <Notice what={phase.why.what} wrong>
          <p>{phase.why.remedy}</p>
          <Again again={again} />
        </Notice>
      );
    case 'open':
      return <Runs heard={phase.heard} {...more} />;
  }
}

function Again({ again }: { again: () => void }) {
  return (
    <button type="button" class="bd-again jp-mod-styled" onClick={again}>
      Look again
    </button>
  );
}

type RunsProps = { readonly heard: Heard } & Pick<PanelViewProps, 'ask' | 'reveal' | 'view' | 'opened' | 'toggle'>;

function Runs({ heard, view, ...more }: RunsProps) {
  const lines = [...heard.runs.values()].reverse();
  const [runs, asked] = [lines.filter(each => !onlyAsked(each)), lines.filter(onlyAsked)];
  return (
    <>
      <p class="bd-session" role="status">
        {session(heard, runs.length)}
      </p>
      {heard.session !== null && <Datasets view={view} />}
      <Watches heard={heard} view={view} />
      {runs.length === 0 ? (
        <Notice what="No run has been captured yet.">
          <p>
            Put <code>%%lineage</code> in the first line of a cell that runs a Spark job, or say{' '}
            <code>%lineage on</code> once to capture all cells that follow.
          </p>
        </Notice>
      ) : (
        <RunList runs={runs} label="Runs, the latest first" view={view} {...more} />
      )}
      {asked.length > 0 && (
        <details class="bd-aside">
          <summary>{counted(asked.length, 'DataFrame')} only asked about</summary>
          <p class="bd-note">
            No action of theirs was captured. Their lineage is that of their queries, as they are now.
          </p>
          <RunList runs={asked} label="DataFrames, the latest first" view={view} {...more} />
        </details>
      )}
    </>
  );
}

type RunListProps = Omit<RunsProps, 'heard'> & { readonly runs: readonly RunLine[]; readonly label: string };

function RunList({ runs, label, ask, reveal, view, opened, toggle }: RunListProps) {
  return (
    <ol class="bd-runs" reversed aria-label={label}>
      {runs.map(run => {
        const key = keyOf(run);
        return (
          <RunItem
            key={key}
            run={run}
            ask={ask}
            reveal={reveal}
            view={view}
            open={opened.has(key)}
            toggle={() => {
              toggle(key);
            }}
          />
        );
      })}
    </ol>
  );
}

/** The way to the datasets of this session and of those before. */
function Datasets({ view }: { view: View }) {
  return (
    <div class="bd-ways bd-datasets-way">
      <h3>Datasets</h3>
      <span class="bd-note">which data feeds which</span>
      <button
        type="button"
        aria-label="Open datasets"
        onClick={() => {
          view(DATASETS, 'datasets');
        }}
      >
        Open
      </button>
    </div>
  );
}

/** The watches that are on. */
function Watches({ heard: { watches }, view }: { heard: Heard; view: View }) {
  if (watches.length === 0) {
    return null;
  }
  return (
    <section class="bd-watches" aria-label="Watches">
      {watches.map(watch => (
        <section key={watch.id}>
          <div class="bd-ways">
            <h3>
              <span class="bd-eye" aria-hidden="true" /> Watch on <WatchName watch={watch} />
            </h3>
            <button
              type="button"
              onClick={() => {
                view({ id: watch.id, began: null, name: watch.operator ?? 'all operators' }, 'watch');
              }}
            >
              Open
            </button>
          </div>
          <WatchFacts watch={watch} />
        </section>
      ))}
    </section>
  );
}

function session({ session }: Heard, runs: number): string {
  if (session === null) {
    return 'No Spark session has been started in this kernel.';
  }
  const stopped = session.running ? '' : ', which has been stopped: what it kept can still be looked at';
  return `${counted(runs, 'run')} of the Spark session ${session.application}${stopped}`;
}
