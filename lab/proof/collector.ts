import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { stringify } from 'yaml';
import { startProduct } from '../bench/support/product.ts';
import { until } from '../bench/support/waiting.ts';
import { createBenchWorkspace, unpaced } from '../bench/support/workspace.ts';
import { callerOf } from '../bench/support/callers.ts';
import { messageTraceId } from '../../db/connection/message-traces.ts';
import { freePort } from '../../providers/free-port.ts';
import { type ReceivedSpan, spansIn } from '../../test/support/traces-receiver.ts';
import { FOLDER, provePart, responds, startProgram } from './world/part.ts';

/**
 * `npm run prove -- collector`: sends a message, and reads its trace from the file exporter of a real OpenTelemetry collector:
 * `otelcol` or `otelcol-contrib` in the PATH. Its releases are in no package registry, so that otherwise its own builder makes one of
 * Go modules, once and in some minutes.
 */
const PROGRAMS = ['otelcol', 'otelcol-contrib'];
const VERSION = 'v0.161.0';
const TEXT = 'A text that belongs into no trace';
const TO = '+14155550123';
const COMPLETE = ['message accepted', 'carrier send', 'message sent', 'message delivered'];

function built(): string | null {
  const output = join(FOLDER, `otelcol-${VERSION}`);
  const program = join(output, 'otelcol');
  if (existsSync(program)) return program;
  console.log(`Building a collector ${VERSION}, once …`);
  mkdirSync(output, { recursive: true });
  const manifest = join(output, 'manifest.yaml');
  writeFileSync(
    manifest,
    stringify({
      dist: { name: 'otelcol', version: VERSION.slice(1), output_path: output },
      receivers: [{ gomod: `go.opentelemetry.io/collector/receiver/otlpreceiver ${VERSION}` }],
      exporters: [
        {
          gomod: `github.com/open-telemetry/opentelemetry-collector-contrib/exporter/fileexporter ${VERSION}`,
        },
      ],
    }),
  );
  const { status } = spawnSync(
    'go',
    ['run', `go.opentelemetry.io/collector/cmd/builder@${VERSION}`, '--config', manifest],
    { stdio: ['ignore', 'ignore', 'inherit'] },
  );
  return status === 0 ? program : null;
}

await provePart({
  name: 'collector',
  find() {
    const folders = (process.env['PATH'] ?? '').split(delimiter);
    const installed = PROGRAMS.flatMap((name) => folders.map((folder) => join(folder, name)));
    const program = installed.find((path) => existsSync(path)) ?? built();
    if (program === null) return `there is no ${PROGRAMS.join(' or ')} in the PATH, and Go cannot build one`;
    return { version: spawnSync(program, ['--version']).stdout.toString().trim(), program };
  },
  async prove({ program }, check) {
    const folder = await mkdtemp(join(tmpdir(), 'linepace-collector-'));
    const [config, file] = [join(folder, 'config.yaml'), join(folder, 'traces.json')];
    const endpoint = `http://127.0.0.1:${await freePort()}`;
    writeFileSync(
      config,
      `receivers:
  otlp:
    protocols:
      http:
        endpoint: ${new URL(endpoint).host}
exporters:
  file:
    path: ${file}
service:
  telemetry:
    metrics:
      level: none
  pipelines:
    traces:
      receivers: [otlp]
      exporters: [file]
`,
    );
    const collector = await startProgram(program, ['--config', config], responds(endpoint));
    Object.assign(process.env, { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_TRACES_SAMPLER_ARG: '1' });
    try {
      const product = await startProduct();
      try {
        const { id, key } = await createBenchWorkspace(product.pools, 1);
        await unpaced(product.pools, id);
        const call = callerOf(product.config, key);
        const sent = await call('POST', '/api/messages', { message: TEXT, recipientPhone: TO });
        check('a message is accepted', sent.status === 201, sent.body);
        const traceId = messageTraceId(String((sent.body as { _id?: unknown })._id));
        const text = (): string => (existsSync(file) ? readFileSync(file, 'utf8') : '');
        // The last line may be incomplete.
        const spans = (): ReceivedSpan[] => spansIn(text().split('\n').slice(0, -1));
        const names = (): string[] =>
          spans().flatMap((span) => (span.traceId === traceId ? [span.name] : []));
        await until(async () => COMPLETE.every((name) => names().includes(name))).catch(() => {});
        check(
          'the collector has its trace from the request to the receipt',
          COMPLETE.every((name) => names().includes(name)),
          names(),
        );
        const roots = spans().filter((span) => span.traceId === traceId && !span.parentSpanId);
        check(
          'the trace has one root',
          roots.map(({ name }) => name).join() === 'message accepted',
          roots.map(({ name }) => name),
        );
        const services = [...text().matchAll(/"service\.name","value":\{"stringValue":"(\w+)"/g)];
        const named = new Set(services.map(([, name]) => name));
        check('API and worker are told apart', named.has('api') && named.has('worker'), [...named]);
        check('no trace has the text or the number', !text().includes(TEXT) && !text().includes(TO.slice(1)));
      } finally {
        await product.stop();
      }
    } finally {
      await collector.stop('SIGTERM');
      await rm(folder, { recursive: true, force: true });
    }
  },
});
