/** What the colours of a chart say. */
import { counted as columns, left, type Drawn } from '../charts/picture';
import { domainOf } from '../charts/scale';
import { moment, quantity } from '../charts/words';

const SERIES = 7;

export function Legend({ drawn, fit }: { drawn: Drawn; fit: boolean }) {
  const column = left(drawn, 'color');
  if (column === undefined) {
    return null;
  }
  if (column.type === 'name') {
    const shown = column.labels.slice(0, SERIES);
    return (
      <ul class="bd-legend" aria-label={`Colours of ${column.name}`}>
        {shown.map((label, at) => (
          <li key={at}>
            <span class="bd-square" style={{ background: `var(--bd-series${at})` }} />
            <bdi>
              {at === SERIES - 1 && column.labels.length > SERIES ? `${column.labels.length - at} others` : label}
            </bdi>
          </li>
        ))}
      </ul>
    );
  }
  const [low, high] = domainOf(columns(drawn, 'color', fit));
  const words = (value: number): string => (column.type === 'time' ? moment(value, column.whole) : quantity(value));
  return (
    <div class="bd-legend">
      <bdi>{column.name}</bdi>
      <span>{words(low)}</span>
      <span class="bd-ramp" />
      <span>{words(high)}</span>
    </div>
  );
}
