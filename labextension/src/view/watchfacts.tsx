/** What a watch knows: how much it saw, the latest records, calls that hang, records that took long, and what went wrong. */
import type { WatchLine } from '../watching';
import { Value } from './value';
import { counted, number, seconds, time } from './words';

export function WatchFacts({ watch }: { watch: WatchLine }) {
  return (
    <div class="bd-watch">
      <p class="bd-facts">{counts(watch).join(' · ')}</p>
      <Seen watch={watch} />
      <Hangs watch={watch} />
      <Slow watch={watch} />
      <Errors watch={watch} />
      {watch.missing.map((why, at) => (
        <p key={at} class="bd-note">
          {why}
        </p>
      ))}
    </div>
  );
}

/** What is watched, for a heading. */
export function WatchName({ watch }: { watch: WatchLine }) {
  return watch.operator === null ? <span>all operators</span> : <bdi>{watch.operator}</bdi>;
}

function counts(watch: WatchLine): string[] {
  return [
    watch.guarded || watch.matched > 0 ? `${number(watch.matched)} matched` : null,
    watch.matched > watch.kept ? `${number(watch.kept)} kept` : null,
    watch.left > 0 ? `${number(watch.left)} not sent` : null,
    watch.timeout === null ? null : `${counted(watch.hung, 'call')} longer than ${seconds(watch.timeout)}`,
    watch.deviations === null ? null : counted(watch.beyond, 'slow record')
  ].filter(each => each !== null);
}

function Seen({ watch }: { watch: WatchLine }) {
  if (watch.records.length === 0) {
    return null;
  }
  return (
    <section>
      <h4>{watch.records.length < watch.kept ? `the latest ${watch.records.length}` : 'records'}</h4>
      <ol>
        {watch.records.map((each, at) => (
          <li key={at}>
            <time dateTime={new Date(each.when * 1000).toISOString()}>{time(each.when)}</time>
            <Value class="bd-record" text={each.record} />
          </li>
        ))}
      </ol>
    </section>
  );
}

const STATES = { running: 'runs for', ended: 'ended after', lost: 'was lost after' } as const;

function Hangs({ watch }: { watch: WatchLine }) {
  if (watch.hangs.length === 0) {
    return null;
  }
  return (
    <section>
      <h4>calls beyond the timeout</h4>
      <ol>
        {watch.hangs.map((each, at) => (
          <li key={at} class={each.state === 'ended' ? '' : 'bd-bad'}>
            <span class="bd-took">{`${STATES[each.state]} ${seconds(each.seconds ?? 0)}`}</span>
            <Value class="bd-record" text={each.record} />
            <Where operator={watch.operator === null ? each.operator : null} line={each.line} />
          </li>
        ))}
      </ol>
    </section>
  );
}

function Slow({ watch }: { watch: WatchLine }) {
  if (watch.slow.length === 0) {
    return null;
  }
  return (
    <section>
      <h4>{watch.slow.length < watch.beyond ? `the slowest ${watch.slow.length}` : 'slow records'}</h4>
      <ol>
        {watch.slow.map((each, at) => (
          <li key={at}>
            <span class="bd-took" title={`${number(each.deviations ?? 0)} standard deviations beyond the mean`}>
              {seconds(each.seconds ?? 0)}
            </span>
            <Value class="bd-record" text={each.record} />
            <Where operator={watch.operator === null ? each.operator : null} line={null} />
          </li>
        ))}
      </ol>
    </section>
  );
}

function Errors({ watch }: { watch: WatchLine }) {
  if (watch.raised === 0) {
    return null;
  }
  const often = watch.raised === 1 ? 'the guard raised once' : `the guard raised ${number(watch.raised)} times`;
  return (
    <section>
      <h4>{watch.disabled ? `${often}, and is called no more` : often}</h4>
      <ol>
        {watch.errors.map((each, at) => (
          <li key={at} class="bd-bad">
            <bdi>{each.exception}</bdi>
            <span>
              on <Value class="bd-record" text={each.record} />
            </span>
            <Where operator={null} line={each.line} />
          </li>
        ))}
      </ol>
    </section>
  );
}

function Where({ operator, line }: { operator: string | null; line: string | null }) {
  const where = [operator, line].filter(each => each !== null);
  return where.length === 0 ? null : <bdi class="bd-line">{where.join(', ')}</bdi>;
}
