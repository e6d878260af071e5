import path from 'node:path';
import Koa from 'koa';
import { koaBody } from 'koa-body';
import { z } from 'zod';
import { announceReady, exitWithParent } from '#providers/lifecycle.ts';
import { simulateCarrier } from './carrier.ts';
import { simulateCarrierLines } from './carrier-lines.ts';
import { openJournal } from './journal.ts';
import { simulateMail } from './mail.ts';
import { simulateModel } from './model.ts';
import { simulatePayments } from './payments.ts';
import type { SimulatorContext } from './part.ts';
import { serve } from './stand-in-server.ts';
import { simulateWebhookReceiver } from './webhook-receiver.ts';

export interface SimulatorOptions {
  /** 0: any free port. */
  port: number;
  smtpPort: number;
  /** The parent of the `simulator/` folder that holds its state; null: in memory only. */
  dataDir: string | null;
  /** The public URL of the product, for example `http://localhost:3000`. */
  callbackBaseUrl: string;
  secret: string;
  log?: (text: string) => void;
}

export interface RunningSimulator {
  url: string;
  /** For `SMTP_URL`. */
  smtpUrl: string;
  stop(): Promise<void>;
}

/** A file of 25 MB in base64, with a margin. */
const BODY_LIMIT = '40mb';

/** Starts the simulated providers. */
export async function startSimulator(options: SimulatorOptions): Promise<RunningSimulator> {
  const { port, smtpPort, dataDir, callbackBaseUrl, secret, log = () => {} } = options;
  const context: SimulatorContext = {
    secret,
    callbackBaseUrl: callbackBaseUrl.replace(/\/$/, ''),
    openJournal: (name) =>
      openJournal(dataDir === null ? null : path.join(dataDir, 'simulator', `${name}.jsonl`)),
    log,
  };
  const mail = await simulateMail(context, smtpPort);
  const parts = [
    mail,
    simulateCarrier(context),
    simulateCarrierLines(context),
    simulatePayments(context),
    simulateModel(context),
    simulateWebhookReceiver(),
  ];

  const app = new Koa();
  app.on('error', (error: Error) => log(`request failed: ${error.message}`));
  app.use(respondToErrors);
  app.use(koaBody({ jsonLimit: BODY_LIMIT, includeUnparsed: true, multipart: true }));
  for (const { routes } of parts) app.use(routes.routes());
  const server = await serve(app, port);

  return {
    url: server.url,
    smtpUrl: mail.smtpUrl,
    async stop() {
      await Promise.all(parts.map((part) => part.stop()));
      await server.stop();
    },
  };
}

/** Reports invalid input with `400`, in the error format of the protocol. */
async function respondToErrors(context: Koa.Context, next: Koa.Next): Promise<void> {
  try {
    await next();
  } catch (error) {
    const bodyStatus = error instanceof Error && 'status' in error ? Number(error.status) : 500;
    if (!(error instanceof z.ZodError) && bodyStatus >= 500) throw error;
    const issues =
      error instanceof z.ZodError
        ? error.issues.map(({ path: at, message }) => ({ path: at.join('.'), message }))
        : [{ path: '', message: 'the body cannot be read' }];
    const message = issues.map((issue) => `${issue.path} ${issue.message}`.trim()).join('; ');
    context.status = error instanceof z.ZodError ? 400 : bodyStatus;
    context.body = context.path.startsWith('/carrier/')
      ? { error: { code: 'invalid_request', message } }
      : { error: message, code: 'VALIDATION_ERROR', issues };
  }
}

const Port = z.coerce.number().int().min(0).max(65_535).default(0);
const Environment = z.object({
  SIMULATOR_PORT: Port,
  SIMULATOR_SMTP_PORT: Port,
  SIMULATOR_SECRET: z.string().min(16),
  PUBLIC_URL: z.url().default('http://localhost:3000'),
  DATA_DIR: z.string().default('.data'),
  NODE_ENV: z
    .string()
    .refine((mode) => mode !== 'production', 'the simulator does not run in production')
    .optional(),
});

if (import.meta.main) {
  const set = Object.fromEntries(Object.entries(process.env).filter(([, value]) => value !== ''));
  const env = Environment.parse(set);
  const simulator = await startSimulator({
    port: env.SIMULATOR_PORT,
    smtpPort: env.SIMULATOR_SMTP_PORT,
    dataDir: env.DATA_DIR,
    callbackBaseUrl: env.PUBLIC_URL,
    secret: env.SIMULATOR_SECRET,
    log: (text) => console.error(text),
  });
  console.log(`The simulator listens at ${simulator.url}, its mail server at ${simulator.smtpUrl}`);
  exitWithParent(() => simulator.stop());
  announceReady();
}
