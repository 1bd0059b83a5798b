import { h } from 'preact';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ANSWERS, type Ask, type Dataset, type Graph, type Traced } from '../src/feeding';
import { readAs, Refused } from '../src/payload';
import { placed } from '../src/view/datasetgraph';
import { DatasetsView } from '../src/view/datasetsview';
import { goldenIn, names } from './golden';
import { Host } from './host';

const read = (name: keyof typeof ANSWERS) => readAs(name, ANSWERS[name], goldenIn('datasets', `answer-${name}`));

let host: Host;
let asked: [string, unknown][];
let graph: Graph;
let dataset: Dataset;
let problem: Refused | null;

beforeEach(() => {
  host = new Host();
  asked = [];
  graph = read('graph') as Graph;
  dataset = read('dataset') as Dataset;
  problem = null;
});

afterEach(() => {
  host.close();
});

const ask: Ask = (name, content) => {
  asked.push([name, content]);
  const found = { graph, around: read('around'), dataset, column: read('column') as Traced }[name];
  return problem === null || name === 'graph' ? Promise.resolve(found as never) : Promise.reject(problem);
};

const show = (): Promise<void> => host.show(h(DatasetsView, { ask }));

test('each golden answer is read, and what is refused says why', () => {
  expect(names('datasets').filter(name => name.startsWith('answer-'))).toHaveLength(5);
  expect(() => readAs('dataset', ANSWERS.dataset, goldenIn('datasets', 'answer-refused'))).toThrow(Refused);
});

test('what feeds others stands before them, and names are text', async () => {
  await show();
  const { places, ways } = placed(graph);
  expect(graph.links.filter(({ from, to }) => places[from]!.x >= places[to]!.x)).toEqual([]);
  // No line goes behind a box that it does not begin or end at.
  const passed = ways.flatMap(way => way.slice(1, -1));
  expect(places.filter(box => passed.some(({ x, y }) => x === box.x && Math.abs(y - box.y) < 42))).toEqual([]);
  expect(host.texts('header')[0]).toMatch(/^8 datasets, 4 jobs/);
  expect(host.texts('.bd-dataset .bd-name')).toContain('orders.csv');
  expect(host.texts('.bd-job .bd-failed')).toEqual(['2 runs, the last failed']);
  expect(host.el.querySelectorAll('path')).toHaveLength(graph.links.length);
  expect(host.el.querySelectorAll('path.bd-same')).toHaveLength(1);
  expect(host.el.querySelectorAll('script, img')).toHaveLength(0);
});

test('a dataset that is chosen has its columns and its history, and the graph can be of what is around it', async () => {
  await show();
  await host.press('sales');
  expect(asked.at(-1)).toEqual(['dataset', { dataset: 5, start: 0 }]);
  expect(host.el.querySelectorAll('[aria-pressed="true"]')).toHaveLength(1);
  expect(host.texts('.bd-about .bd-summary')).toEqual(['file:/w/shop.sales']);
  expect(host.texts('.bd-about td .bd-failed, .bd-about td.bd-failed')[0]).toContain('<script>alert(1)</script>');
  expect(host.el.querySelectorAll('script, img')).toHaveLength(0);
  await host.press('Only what feeds it');
  expect(asked.some(([name, content]) => name === 'around' && JSON.stringify(content) === '{"dataset":5}')).toBe(true);
  expect(host.texts('header')[0]).toContain('around');
  await host.press('Show all');
  expect(asked.filter(([name]) => name === 'graph').at(-1)).toEqual(['graph', { all: true }]);
});

test('a column that is followed fades what it does not reach', async () => {
  await show();
  await host.press('sales');
  await host.press(/^total$/);
  expect(asked.at(-1)).toEqual(['column', { dataset: 5, column: 1 }]);
  expect(host.texts('.bd-dataset:not(.bd-faded) .bd-name')).toContain('report');
  expect(host.texts('.bd-dataset.bd-faded .bd-name').length).toBeGreaterThan(0);
  expect(host.texts('.bd-following li')).toContain('price of file:/w/shop.db/orders aggregation');
  await host.press('Follow no column');
  expect(host.texts('.bd-faded')).toEqual([]);
});

test('what is refused is said, and can be asked again', async () => {
  await show();
  problem = new Refused('This dataset is not in the store any more.', 'Look at the graph again.');
  await host.press('sales');
  expect(host.texts('[role="alert"] .bd-what')).toEqual(['This dataset is not in the store any more.']);
  problem = null;
  await host.press('Look again');
  await host.press('sales');
  expect(host.texts('[role="alert"]').length).toBeLessThanOrEqual(1);
});

test('a long history has pages, wide datasets say what is left out, and nothing recorded says so', async () => {
  dataset = { ...dataset, more: true, left: 7 };
  await show();
  await host.press('sales');
  await host.press('Later');
  expect(asked.at(-1)).toEqual(['dataset', { dataset: 5, start: 20 }]);
  expect(host.texts('.bd-about .bd-note')).toContain('7 more columns are left out.');
  host.close();
  host = new Host();
  graph = { nodes: [], links: [], focus: null, left: 0, notes: ['The store is locked.'] };
  await show();
  expect(host.texts('.bd-what')).toEqual(['Nothing was recorded yet: run a job while bigdebug is attached.']);
  expect(host.texts('.bd-note')).toEqual(['The store is locked.']);
});
