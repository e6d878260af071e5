import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { existsSync, mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openApiDocument } from '../../api/http/openapi.ts';
import { routes } from '../../api/routes.ts';
import { mavenFile, npmPackages, provePart } from './world/part.ts';

/**
 * `npm run prove -- client-generators`: makes clients from the OpenAPI document with openapi-generator, openapi-typescript and
 * openapi-python-client, compiles them, and makes a call with one of each language.
 */
const GENERATOR = '7.14.0';
const PYTHON_CLIENT = '0.29.1';
const KEY = 'svc_0123456789';

const CALL = `import importlib, pkgutil, sys
sys.path.insert(0, "python")
import linepace_api
for module in pkgutil.walk_packages(linepace_api.__path__, "linepace_api."):
    importlib.import_module(module.name)
configuration = linepace_api.Configuration(host=sys.argv[1], access_token=sys.argv[2])
with linepace_api.ApiClient(configuration) as client:
    page = linepace_api.MessagesApi(client).list_messages(limit=5)
    assert page.messages == [], page
`;

await provePart({
  name: 'client-generators',
  find() {
    if (spawnSync('java', ['-version']).status !== 0) return 'openapi-generator requires Java';
    const jar = mavenFile(`org.openapitools:openapi-generator-cli:${GENERATOR}`);
    if (jar === null) return 'openapi-generator cannot be downloaded; it requires Maven';
    const modules = npmPackages('generators', ['openapi-typescript@7', 'typescript@5.9', 'axios@1']);
    if (modules === null) return 'openapi-typescript cannot be installed from npm';
    return {
      version: `openapi-generator ${GENERATOR}, openapi-typescript 7, openapi-python-client ${PYTHON_CLIENT}`,
      jar,
      modules,
    };
  },
  async prove({ jar, modules }, check) {
    const folder = mkdtempSync(join(tmpdir(), 'linepace-generators-'));
    const document = join(folder, 'openapi.json');
    writeFileSync(document, JSON.stringify(openApiDocument(routes)));
    symlinkSync(modules, join(folder, 'node_modules'));
    const run = (program: string, args: readonly string[], environment: object = {}): string => {
      const { status, stdout, stderr, error } = spawnSync(program, args, {
        cwd: folder,
        env: { ...process.env, ...environment },
        maxBuffer: 64 * 1024 * 1024,
      });
      return status === 0
        ? ''
        : `${String(error ?? '')}${stdout.toString()}${stderr.toString()}`.slice(-1500);
    };
    const generate = (generator: string, name: string): string =>
      run('java', [
        '-jar',
        jar,
        'generate',
        '-i',
        document,
        '-g',
        generator,
        '-o',
        name,
        '--additional-properties=packageName=linepace_api',
      ]);
    const compile = (file: string): string =>
      run(process.execPath, [
        join(modules, 'typescript', 'bin', 'tsc'),
        '--noEmit',
        '--strict',
        '--skipLibCheck',
        '--target',
        'es2022',
        '--lib',
        'es2022,dom',
        '--module',
        'esnext',
        '--moduleResolution',
        'bundler',
        file,
      ]);
    const venv = join(folder, 'venv', 'bin');
    const received: string[] = [];
    const server = createServer((request, response) => {
      received.push(`${request.method} ${request.url} ${request.headers.authorization}`);
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end('{"success":true,"messages":[],"nextCursor":null}');
    }).listen(0, '127.0.0.1');
    // All that follows is synchronous.
    await once(server, 'listening');
    try {
      for (const generator of ['typescript-fetch', 'typescript-axios']) {
        const failure = generate(generator, generator) || compile(`${generator}/index.ts`);
        check(`openapi-generator's ${generator} compiles`, failure === '', failure);
      }
      const types =
        run(process.execPath, [
          join(modules, 'openapi-typescript', 'bin', 'cli.js'),
          document,
          '-o',
          'types.ts',
        ]) || compile('types.ts');
      check("openapi-typescript's types compile", types === '', types);

      mkdirSync(join(folder, 'python'));
      const python =
        generate('python', 'python') ||
        run('python3', ['-m', 'venv', 'venv']) ||
        run(join(venv, 'pip'), [
          'install',
          '-q',
          'pydantic',
          'urllib3',
          'python-dateutil',
          `openapi-python-client==${PYTHON_CLIENT}`,
        ]) ||
        run(join(venv, 'python'), ['-m', 'compileall', '-q', 'python/linepace_api']);
      check("openapi-generator's python compiles", python === '', python);
      const { port } = server.address() as AddressInfo;
      writeFileSync(join(folder, 'call.py'), CALL);
      const call = await runAsync(join(venv, 'python'), ['call.py', `http://127.0.0.1:${port}`, KEY], folder);
      check('… every module can be imported, and a call is made', call === '', call);
      check('… with the key', received.join() === `GET /api/messages?limit=5 Bearer ${KEY}`, received);

      const other =
        run(
          join(venv, 'openapi-python-client'),
          ['generate', '--path', document, '--output-path', 'other', '--meta', 'none'],
          {
            PATH: `${venv}:${process.env['PATH']}`,
          },
        ) || run(join(venv, 'python'), ['-m', 'compileall', '-q', 'other']);
      check(
        "openapi-python-client's client compiles",
        other === '' && existsSync(join(folder, 'other', 'models')),
        other,
      );
    } finally {
      server.close();
      await rm(folder, { recursive: true, force: true });
    }
  },
});

/** Not synchronous, because the server of the call is in this process. */
async function runAsync(program: string, args: readonly string[], cwd: string): Promise<string> {
  const { execFile } = await import('node:child_process');
  return new Promise((resolve) => {
    execFile(program, args, { cwd }, (error, stdout, stderr) =>
      resolve(error ? `${stdout}${stderr}`.slice(-1500) : ''),
    );
  });
}
