/** A JupyterLab of its own: a free port, a token, and no settings, extensions or kernels of whoever runs the tests. */
import { spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const PATIENCE = 60_000;

/** Cells of a notebook, as their text. */
export type Cells = readonly string[];

export class Lab {
  /** Starts JupyterLab, and waits until it serves. */
  static async start(): Promise<Lab> {
    const lab = new Lab(mkdtempSync(join(tmpdir(), 'bigdebug-lab-')));
    await lab.ready();
    return lab;
  }

  private constructor(private readonly home: string) {
    mkdirSync(join(home, 'config', 'labconfig'), { recursive: true });
    mkdirSync(join(home, 'work'));
    const quiet = { disabledExtensions: { '@jupyterlab/apputils-extension:announcements': true } };
    writeFileSync(join(home, 'config', 'labconfig', 'page_config.json'), JSON.stringify(quiet));
    this.server = spawn(
      'python', // which ends the server when these tests do, also if they are killed
      [
        join(import.meta.dirname, 'leash.py'),
        'jupyter',
        'lab',
        '--no-browser',
        '--allow-root',
        '--ip=127.0.0.1',
        '--port=0',
        '--ServerApp.port_retries=0'
      ],
      {
        cwd: join(home, 'work'),
        detached: true,
        env: {
          ...process.env,
          HOME: home,
          IPYTHONDIR: join(home, 'ipython'),
          JUPYTER_CONFIG_DIR: join(home, 'config'),
          JUPYTER_DATA_DIR: join(home, 'data'),
          JUPYTER_RUNTIME_DIR: join(home, 'runtime'),
          JUPYTER_PREFER_ENV_PATH: '1',
          JUPYTER_TOKEN: this.token,
          PYTHONPATH: [join(import.meta.dirname, '../..'), process.env['PYTHONPATH']].filter(Boolean).join(delimiter),
          SPARK_LOCAL_IP: '127.0.0.1'
        },
        stdio: ['pipe', 'pipe', 'pipe']
      }
    );
    for (const stream of [this.server.stdout, this.server.stderr]) {
      stream?.on('data', (said: Buffer) => (this.said += said.toString()));
    }
  }

  /** Writes a notebook, and gives the address that opens it by itself, in a workspace of its own. */
  notebook(name: string, kernel: string, cells: Cells): string {
    const notebook = {
      metadata: { kernelspec: { name: kernel, display_name: kernel, language: 'python' } },
      nbformat: 4,
      nbformat_minor: 5,
      cells: cells.map((source, at) => ({
        cell_type: 'code',
        id: `cell-${at}`,
        source,
        metadata: {},
        outputs: [],
        execution_count: null
      }))
    };
    writeFileSync(join(this.home, 'work', name), JSON.stringify(notebook));
    return this.address(name);
  }

  /** Brings a notebook of the examples, and what it imports, and gives the address that opens it. */
  example(name: string, ...beside: readonly string[]): string {
    for (const each of [name, ...beside]) {
      copyFileSync(join(import.meta.dirname, '../../examples', each), join(this.home, 'work', each));
    }
    return this.address(name);
  }

  private address(name: string): string {
    return `${this.url}lab/workspaces/${randomUUID()}/tree/${name}?token=${this.token}`;
  }

  /** What is in the file of a notebook. */
  saved(name: string): string {
    return readFileSync(join(this.home, 'work', name), 'utf8');
  }

  /** Gives a notebook the kernel of another one, as "Use Kernel from Other Session" does. */
  async share(from: string, to: string): Promise<void> {
    const headers = { Authorization: `token ${this.token}` };
    let kernel: { id: string } | undefined;
    for (const end = Date.now() + PATIENCE; kernel === undefined && Date.now() < end; await sleep(100)) {
      const answer = await fetch(`${this.url}api/sessions`, { headers });
      const known = (await answer.json()) as { path: string; kernel: { id: string } }[];
      kernel = known.find(session => session.path === from)?.kernel;
    }
    const session = JSON.stringify({ path: to, name: to, type: 'notebook', kernel: { id: kernel?.id } });
    const answer = await fetch(`${this.url}api/sessions`, { method: 'POST', headers, body: session });
    if (!answer.ok) {
      throw new Error(`${to} does not get the kernel of ${from}: ${await answer.text()}`);
    }
  }

  /** Shuts down the kernel of a notebook, and with it the session. */
  async shutDown(name: string): Promise<void> {
    const headers = { Authorization: `token ${this.token}` };
    const answer = await fetch(`${this.url}api/sessions`, { headers });
    const known = (await answer.json()) as { path: string; id: string }[];
    const session = known.find(each => each.path === name);
    await fetch(`${this.url}api/sessions/${session?.id}`, { method: 'DELETE', headers });
  }

  /** What the server and its kernels have printed. */
  get log(): string {
    return this.said;
  }

  /** Ends the server with its kernels, and leaves nothing of them. */
  async stop(): Promise<void> {
    const ended = new Promise(resolve => this.server.once('exit', resolve));
    await fetch(`${this.url}api/shutdown`, { method: 'POST', headers: { Authorization: `token ${this.token}` } }).catch(
      () => undefined
    );
    await Promise.race([ended, sleep(15_000, undefined, { ref: false })]);
    if (this.server.pid !== undefined && this.server.exitCode === null) {
      process.kill(-this.server.pid, 'SIGKILL');
    }
    rmSync(this.home, { recursive: true, force: true, maxRetries: 5 });
  }

  private async ready(): Promise<void> {
    const runtime = join(this.home, 'runtime');
    for (const end = Date.now() + PATIENCE; Date.now() < end; await sleep(100)) {
      if (this.server.exitCode !== null) {
        break;
      }
      const [file] = existsSync(runtime) ? readdirSync(runtime).filter(name => /^jpserver-\d+\.json$/.test(name)) : [];
      const written = file === undefined ? '' : readFileSync(join(runtime, file), 'utf8');
      if (written.endsWith('}')) {
        this.url = (JSON.parse(written) as { url: string }).url;
        const answer = await fetch(`${this.url}api/status?token=${this.token}`).catch(() => null);
        if (answer?.ok === true) {
          return;
        }
      }
    }
    await this.stop();
    throw new Error(`JupyterLab does not serve:\n${this.said}`);
  }

  private readonly server: ChildProcess;
  private readonly token = randomUUID();
  private url = '';
  private said = '';
}
