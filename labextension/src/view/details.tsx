/** What a run consists of, and what crashed in it: two tables. */
import type { Cause, Operator } from '../payload';
import { counted, number } from './words';

export function Operators({ operators }: { operators: readonly Operator[] }) {
  return (
    <table class="bd-table">
      <caption>{counted(operators.length, 'operator')}</caption>
      <thead>
        <tr>
          <th scope="col">operator</th>
          <th scope="col">kind</th>
          <th scope="col" class="bd-number">
            records
          </th>
          <th scope="col">dataset</th>
          <th scope="col">defined at</th>
        </tr>
      </thead>
      <tbody>
        {operators.map(operator => (
          <tr key={operator.id}>
            <Text>{operator.name}</Text>
            <td>{operator.kind}</td>
            <td class="bd-number">{operator.records === null ? '' : number(operator.records)}</td>
            <Text>{operator.dataset}</Text>
            <Text>{operator.line}</Text>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

export function Causes({ causes }: { causes: readonly Cause[] }) {
  if (causes.length === 0) {
    return null;
  }
  return (
    <table class="bd-table bd-causes">
      <caption>{causes.length === 1 ? '1 cause of crashes' : `${causes.length} causes of crashes`}</caption>
      <thead>
        <tr>
          <th scope="col" class="bd-number">
            culprits
          </th>
          <th scope="col">exception</th>
          <th scope="col">operator</th>
          <th scope="col">line</th>
          <th scope="col">first record</th>
        </tr>
      </thead>
      <tbody>
        {causes.map((cause, at) => (
          <tr key={at}>
            <td class="bd-number">{number(cause.culprits)}</td>
            <Text>{cause.exception}</Text>
            <Text>{cause.operator}</Text>
            <Text>{cause.line}</Text>
            <Text>{cause.record}</Text>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** The user's text, in its own direction: what is written from right to left turns nothing around it. */
function Text({ children }: { children: string | null }) {
  return <td>{children === null ? null : <bdi>{children}</bdi>}</td>;
}
