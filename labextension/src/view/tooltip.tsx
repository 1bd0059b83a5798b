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

/** Milliseconds that a hand rests before the kernel is asked. */
const REST = 120;

export function Tooltip(props: TooltipProps) {
  const { view, mark, drawn, at, width, height } = props;
  const fields = useFields(props);
  const known = fields?.view === view && fields.mark === mark ? fields : null;
  const right = (at.left + at.right) / 2 > width / 2;
  const below = at.top < height / 2;
  const [x, y] = [Math.min(width, Math.max(0, right ? at.left : at.right)), Math.min(height, Math.max(0, at.top))];
  return (
    <div
      class="bd-tooltip"
      role="tooltip"
      style={{
        ...(right ? { right: `${width - x + 8}px` } : { left: `${x + 8}px` }),
        ...(below
          ? { top: `${Math.max(0, y)}px` }
          : { bottom: `${Math.max(0, height - Math.min(height, at.bottom))}px` })
      }}
    >
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
            <bdi>{words(column, mark)}</bdi>
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
            <bdi>{field.now}</bdi>
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
