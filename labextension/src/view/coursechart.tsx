/** How the candidates became fewer in the course of a search, on a logarithmic axis: a line for each output that was looked at. */
import type { Course } from '../diagnosing';
import { logarithmic, powers, short, ticks } from './axis';
import { number, seconds } from './words';

const WIDTH = 640;
const HEIGHT = 150;
const LEFT = 44;
const RIGHT = 12;
const TOP = 10;
const BOTTOM = 22;

export interface CourseChartProps {
  readonly course: Course;
  /** Seconds until now, or until the end. */
  readonly until: number;
}

export function CourseChart({ course, until }: CourseChartProps) {
  const last = course.at(-1);
  if (last === undefined) {
    return null;
  }
  const longest = Math.max(until, last[0], 0.1);
  const marks = powers(Math.max(...course.map(([, left]) => left)));
  const top = Math.max(...course.map(([, left]) => left), marks.at(-1) ?? 1);
  const x = (second: number): number => LEFT + (second / longest) * (WIDTH - LEFT - RIGHT);
  const y = (left: number): number => HEIGHT - BOTTOM - logarithmic(left, top) * (HEIGHT - TOP - BOTTOM);
  const [, first] = course[0] ?? last;
  return (
    <figure class="bd-course">
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        role="img"
        aria-label={`Candidates left over time: ${number(first)} at first, ${number(last[1])} after ${seconds(longest)}`}
      >
        {marks.map(mark => (
          <g key={mark}>
            <line class="bd-rule" x1={LEFT} x2={WIDTH - RIGHT} y1={y(mark)} y2={y(mark)} />
            <text class="bd-tick" x={LEFT - 6} y={y(mark)} text-anchor="end" dominant-baseline="central">
              {short(mark)}
            </text>
          </g>
        ))}
        {ticks(longest).map(tick => (
          <text key={tick} class="bd-tick" x={x(tick)} y={HEIGHT - 6} text-anchor={tick === 0 ? 'start' : 'middle'}>
            {`${tick} s`}
          </text>
        ))}
        {lines(course, longest).map((line, at) => (
          <path key={at} class="bd-way" d={stepped(line.map(([second, left]) => [x(second), y(left)]))} />
        ))}
        <circle class="bd-now" cx={x(longest)} cy={y(last[1])} r="3.5" />
      </svg>
      <figcaption>Candidates left, by seconds</figcaption>
    </figure>
  );
}

type Points = readonly (readonly [number, number])[];

/** The points of each output, until the next one begins, or until the end. */
export function lines(course: Course, end: number): Points[] {
  const found: [number, number][][] = [];
  course.forEach(([second, left, output], at) => {
    if (at === 0 || output !== course[at - 1]?.[2]) {
      const ended = found.at(-1);
      const [, before] = ended?.at(-1) ?? [0, 0];
      ended?.push([second, before]);
      found.push([]);
    }
    found.at(-1)?.push([second, left]);
  });
  const [, left] = found.at(-1)?.at(-1) ?? [0, 0];
  found.at(-1)?.push([end, left]);
  return found;
}

/** A line that stays where it is until the next point. */
function stepped(points: Points): string {
  const written = points.map(([x, y], at) =>
    at === 0 ? `M${x.toFixed(1)} ${y.toFixed(1)}` : `H${x.toFixed(1)}V${y.toFixed(1)}`
  );
  return written.join('');
}
