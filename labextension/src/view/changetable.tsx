/** Changes as a table, the old output beside the new one, with the inputs behind each. */
import { Fragment } from 'preact';
import type { Change, Inputs, Page } from '../comparing';
import { parted, type Parted } from './parted';
import { Value } from './value';
import { counted, number } from './words';

/** So many fields are shown of records that have more, if nobody asks for all. */
export const FEW = 6;

/** The fields to show of a page: all, or the first and those that differ; of few, others to fill the place. */
export function chosen(page: Page, all: boolean): number[] {
  const every = page.columns.map((_, at) => at);
  if (all || every.length <= FEW) {
    return every;
  }
  const differ = new Set([0, ...page.changes.flatMap(change => change.differ)].filter(at => at < every.length));
  every.forEach(at => (differ.size < FEW ? differ.add(at) : differ));
  return [...differ].sort((one, other) => one - other);
}

export function ChangeTable({ page, fields }: { page: Page; fields: readonly number[] }) {
  const names = fields.map(at => page.columns[at] ?? '');
  return (
    <table class="bd-records bd-changes" style={{ '--bd-fields': 2 * fields.length }}>
      <thead>
        <tr>
          <th rowSpan={2} scope="col">
            change
          </th>
          <th colSpan={fields.length} scope="colgroup" class="bd-side">
            before
          </th>
          <th colSpan={fields.length} scope="colgroup" class="bd-side">
            after
          </th>
        </tr>
        <tr>
          {[...names, ...names].map((name, at) => (
            <th key={at} scope="col" class={at % fields.length === 0 ? 'bd-side' : ''}>
              <bdi>{name}</bdi>
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {page.changes.map(change => (
          <Fragment key={change.number}>
            <tr class={`bd-${change.kind}`}>
              <th scope="row">{change.kind}</th>
              <Side change={change} fields={fields} side="before" />
              <Side change={change} fields={fields} side="after" />
            </tr>
            {change.inputs !== null && (
              <tr class="bd-inputs">
                <td />
                <td colSpan={2 * fields.length} class="bd-side">
                  <Behind change={change} inputs={change.inputs} />
                </td>
              </tr>
            )}
          </Fragment>
        ))}
      </tbody>
    </table>
  );
}

function Side({ change, fields, side }: { change: Change; fields: readonly number[]; side: 'before' | 'after' }) {
  const cells = change[side];
  if (cells === null) {
    return (
      <td colSpan={fields.length} class="bd-side bd-none">
        {side === 'before' ? 'was not there' : 'is not there'}
      </td>
    );
  }
  return (
    <>
      {fields.map((at, place) => {
        const cell = cells[at] ?? '';
        const differs = change.differ.includes(at);
        return (
          <td key={at} class={`bd-${side}${place === 0 ? ' bd-side' : ''}`}>
            <div class="bd-value">
              {differs ? (
                <Marked text={cell} parts={parted(change.before?.[at] ?? '', change.after?.[at] ?? '')} side={side} />
              ) : (
                <Value text={cell} />
              )}
            </div>
          </td>
        );
      })}
    </>
  );
}

/** A field that is another than before, with what is different in it. */
function Marked({ text, parts, side }: { text: string; parts: Parted; side: 'before' | 'after' }) {
  const different = side === 'before' ? parts.old : parts.now;
  if (parts.old === parts.now) {
    return (
      <mark title="What is different is not shown: these values differ farther on, or in their types">
        <bdi dir="ltr">{text}</bdi>
      </mark>
    );
  }
  return (
    <bdi dir="ltr">
      {parts.begin}
      {different !== '' && <mark>{different}</mark>}
      {parts.end}
    </bdi>
  );
}

/** The inputs behind a change: those of one side alone, and how many are the same. */
function Behind({ change, inputs }: { change: Change; inputs: Inputs }) {
  const differ = inputs.gones + inputs.news > 0;
  if (!differ) {
    return <span class="bd-facts">{told(change, inputs)}</span>;
  }
  return (
    <details open={inputs.gones + inputs.news <= 4}>
      <summary>{told(change, inputs)}</summary>
      <ul>
        <Some records={inputs.gone} every={inputs.gones} sign="−" what="of before" />
        <Some records={inputs.new} every={inputs.news} sign="+" what="of after" />
      </ul>
    </details>
  );
}

export function told(change: Change, inputs: Inputs): string {
  switch (change.kind) {
    case 'added':
      return `It is made of ${counted(inputs.news + inputs.same, 'input')}.`;
    case 'removed':
      return `It was made of ${counted(inputs.gones + inputs.same, 'input')}.`;
    case 'changed':
      return inputs.gones + inputs.news === 0
        ? `Made of the same ${counted(inputs.same, 'input')}: the program differs, or does not repeat itself.`
        : `Its inputs: ${parts(inputs).join(', ')}.`;
  }
}

function parts({ gones, news, same }: Inputs): string[] {
  const every: [number, string][] = [
    [gones, 'of before alone'],
    [news, 'of after alone'],
    [same, 'of both']
  ];
  return every.filter(([count]) => count > 0).map(([count, whose]) => `${number(count)} ${whose}`);
}

interface SomeProps {
  readonly records: Inputs['gone'];
  readonly every: number;
  readonly sign: string;
  readonly what: string;
}

function Some({ records, every, sign, what }: SomeProps) {
  return (
    <>
      {records.map((record, at) => (
        <li key={at} class={sign === '+' ? 'bd-new' : 'bd-gone'}>
          <span class="bd-sign" aria-label={what}>
            {sign}
          </span>
          <Value class="bd-record" text={record.record} /> <Value class="bd-facts" text={record.origin} />
        </li>
      ))}
      {every > records.length && <li class="bd-facts">{`and ${number(every - records.length)} more ${what}`}</li>}
    </>
  );
}
