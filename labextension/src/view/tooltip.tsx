/** The fields of the mark that is pointed at: at once those that are drawn, and all that the kernel knows a little later. */
import { useEffect, useState } from 'preact/hooks';
import type { Ask, Fields } from '../brushing';
import { words } from '../charts/column';
import { left, type Box, type Drawn } from '../charts/picture';
import { counted, number } from './words';

export interface TooltipProps {
  readonly view: number;
  readonly mark: number;
  readonly drawn: Drawn;
  readonly ask: Ask;
  readonly change: number;
  readonly at: Box;
  readonly width: number;
  readonly height: number;
}

/** Pixels between a mark and its fields, from what height on a mark is tall, and how wide fields may be in any case. */
const AWAY = 8;
const TALL = 60;
const LEAST = 160;

/** Milliseconds that a hand rests before the kernel is asked. */
const REST = 120;

export function Tooltip(props: TooltipProps) {
  const { view, mark, drawn, at, width, height } = props;
  const fields = useFields(props);
  const known = fields?.view === view && fields.mark === mark ? fields : null;
  return (
    <div class="bd-tooltip" role="tooltip" style={beside(at, width, height)}>
      <table>
        <tbody>{known === null ? <Local drawn={drawn} mark={mark} /> : <All fields={known} />}</tbody>
      </table>
      {known !== null && (
        <p>
          {known.rows === known.of
            ? counted(known.of, 'row')
            : `${number(known.rows)} of ${counted(known.of, 'row')} left`}
          {known.left > 0 && `, and ${counted(known.left, 'field')} more`}
        </p>
      )}
    </div>
  );
}

/** Where there is more room: at one side of the mark's middle, under a flat mark or above it, and along a tall one. */
export function beside(at: Box, width: number, height: number): Record<string, string> {
  const within = (value: number, most: number): number => Math.min(most, Math.max(0, value));
  const x = within((at.left + at.right) / 2, width);
  const room = { 'max-width': `${Math.max(x, width - x, LEAST) - AWAY}px` };
  const across = { ...room, ...(x > width / 2 ? { right: `${width - x + AWAY}px` } : { left: `${x + AWAY}px` }) };
  if (at.bottom - at.top > TALL) {
    return { ...across, top: `${within(at.top, height / 2)}px` };
  }
  return (at.top + at.bottom) / 2 < height / 2
    ? { ...across, top: `${within(at.bottom, height) + AWAY}px` }
    : { ...across, bottom: `${height - within(at.top, height) + AWAY}px` };
}

function Local({ drawn, mark }: { drawn: Drawn; mark: number }) {
  const columns = (['x', 'y', 'color'] as const).map(role => left(drawn, role)).filter(each => each !== undefined);
  return (
    <>
      {columns.map((column, at) => (
        <tr key={at}>
          <th scope="row">
            <bdi>{column.name}</bdi>
          </th>
          <td>
            <bdi class="bd-field">{words(column, mark)}</bdi>
          </td>
        </tr>
      ))}
    </>
  );
}

function All({ fields }: { fields: Fields }) {
  return (
    <>
      {fields.fields.map((field, at) => (
        <tr key={at}>
          <th scope="row">
            <bdi>{field.name}</bdi>
          </th>
          <td>
            <bdi class="bd-field">{field.now}</bdi>
            {field.all !== null && (
              <span class="bd-all-rows">
                {' of '}
                <bdi>{field.all}</bdi>
              </span>
            )}
          </td>
        </tr>
      ))}
    </>
  );
}

/** What the kernel knows of a mark, once a hand rests on it; anew when what is brushed has changed. */
function useFields({ view, mark, ask, change }: TooltipProps): Fields | null {
  const [fields, setFields] = useState<Fields | null>(null);
  useEffect(() => {
    let wanted = true;
    const timer = setTimeout(() => {
      ask('mark', { view, mark }).then(
        found => {
          if (wanted) {
            setFields(found);
          }
        },
        () => undefined // what is drawn stays; a brush would say what is wrong
      );
    }, REST);
    return () => {
      wanted = false;
      clearTimeout(timer);
    };
  }, [view, mark, change]);
  return fields;
}
