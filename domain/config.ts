import { z } from 'zod';
import { storageQuota } from './storage-quota.ts';

const Flag = z.enum(['0', '1']).transform((value) => value === '1');
const Port = z.coerce.number().int().min(0).max(65_535);
const HttpUrl = z.url({ protocol: /^https?$/ });
/** Comma-separated, at least one value. */
const List = z
  .string()
  .transform((text) => text.split(',').flatMap((value) => value.trim() || []))
  .pipe(z.array(z.string()).min(1, 'must not be empty'));

const PostgresUrl = z.url({ protocol: /^postgres(ql)?$/ });
const DatabaseLogins = { DATABASE_URL: PostgresUrl, DATABASE_SYSTEM_URL: PostgresUrl };

/** `{"plans": {"mini": "price_…", "starter": …, "growth": …}, "lines": {"phone": …, "email": …}}` */
const StripePrices = z
  .string()
  .transform((text, context) => {
    try {
      return JSON.parse(text) as unknown;
    } catch {
      context.addIssue({ code: 'custom', message: 'is not valid JSON' });
      return z.NEVER;
    }
  })
  .pipe(
    z.object({
      plans: z.object({ mini: z.string(), starter: z.string(), growth: z.string() }),
      lines: z.object({ phone: z.string(), email: z.string() }),
    }),
  );

const Names = z.string().transform((text) => text.split(',').map((name) => name.trim()));

/** `model=200,webhooks=400` */
const Slots = z.string().transform((text, context) => {
  const slots: Record<string, number> = {};
  for (const entry of text.split(',')) {
    const [, name, count] = /^\s*([\w-]+)\s*=\s*(\d+)\s*$/.exec(entry) ?? [];
    if (name !== undefined && Number(count) > 0 && Number(count) <= 10_000) slots[name] = Number(count);
    else
      context.addIssue({
        code: 'custom',
        message: `"${entry}" must be a queue and 1 to 10000 slots, for example model=200`,
      });
  }
  return slots;
});

/** Where Temporal is, and how it is reached. */
const TemporalServer = {
  TEMPORAL_ADDRESS: z.string().default('localhost:7233'),
  TEMPORAL_NAMESPACE: z.string().default('default'),
  TEMPORAL_API_KEY: z.string().optional(),
  TEMPORAL_TLS: Flag.optional(),
  TEMPORAL_TLS_CLIENT_CERT_PATH: z.string().optional(),
  TEMPORAL_TLS_CLIENT_KEY_PATH: z.string().optional(),
  TEMPORAL_TLS_SERVER_CA_CERT_PATH: z.string().optional(),
  TEMPORAL_TLS_SERVER_NAME: z.string().optional(),
};

const Environment = z.object({
  NODE_ENV: z.string().default('development'),
  ...DatabaseLogins,
  DATABASE_POOL_SIZE: z.coerce.number().int().min(1).max(200).default(10),
  ...TemporalServer,
  HOST: z.string().default('0.0.0.0'),
  PORT: Port.default(3000),
  PUBLIC_URL: HttpUrl.optional(),
  TRUSTED_PROXIES: z.coerce.number().int().min(0).max(10).default(0),
  FAILED_ATTEMPTS_PER_MINUTE: z.coerce.number().int().min(1).default(60),
  METRICS_PORT: Port.optional(),
  LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'silent']).default('info'),
  ENCRYPTION_KEYS: z.string().min(1),
  SIGNING_KEYS: z.string().min(1),
  AUTH_JWKS_URL: HttpUrl.optional(),
  AUTH_ISSUER: z.string().optional(),
  AUTH_AUDIENCE: List.optional(),
  AUTH_AUTHORIZED_PARTIES: List.optional(),
  AUTH_LOCAL_JWK: z.string().optional(),
  WEBHOOK_ALLOW_PRIVATE: Flag.default(false),
  SIMULATOR_URL: HttpUrl.optional(),
  SIMULATOR_SECRET: z.string().optional(),
  STRIPE_SECRET_KEY: z.string().optional(),
  STRIPE_WEBHOOK_SECRET: z.string().optional(),
  STRIPE_API_URL: HttpUrl.optional(),
  STRIPE_PRICES: StripePrices.optional(),
  LLM_BASE_URL: HttpUrl.optional(),
  LLM_API_KEY: z.string().optional(),
  LLM_MODEL: z.string().optional(),
  LLM_TIMEOUT_SECONDS: z.coerce.number().min(0.1).max(120).default(45),
  TWILIO_API_URL: HttpUrl.optional(),
  SMTP_URL: z.url({ protocol: /^smtps?$/ }).optional(),
  MAIL_FROM: z.string().optional(),
  INBOX_POLL_SECONDS: z.coerce.number().min(1).max(3600).default(60),
  DATA_DIR: z.string().default('.data'),
  STORAGE_QUOTA_GB: z.coerce.number().positive().default(20),
  S3_BUCKET: z.string().optional(),
  S3_REGION: z.string().default('us-east-1'),
  S3_ENDPOINT: HttpUrl.optional(),
  S3_ACCESS_KEY_ID: z.string().optional(),
  S3_SECRET_ACCESS_KEY: z.string().optional(),
  FFMPEG_PATH: z.string().optional(),
  PATH: z.string().default(''),
  WORKER_QUEUES: Names.optional(),
  WORKER_SLOTS: Slots.default({}),
  WORKER_BUILD_ID: z.string().min(1).max(100).optional(),
  MAX_CACHED_WORKFLOWS: z.coerce.number().int().min(10).default(1000),
});

const TemporalVariables = z.object(TemporalServer);
type TemporalVariables = z.output<typeof TemporalVariables>;

/** The configuration of a process. The README documents the variables. */
export type Config = Readonly<ReturnType<typeof read>>;

function read(env: z.output<typeof Environment>) {
  return {
    production: env.NODE_ENV === 'production',
    database: databaseUrls(env),
    databasePoolSize: env.DATABASE_POOL_SIZE,
    temporal: {
      ...temporalServer(env),
      maxCachedWorkflows: env.MAX_CACHED_WORKFLOWS,
      buildId: env.WORKER_BUILD_ID ?? null,
    },
    worker: { names: env.WORKER_QUEUES ?? null, slots: env.WORKER_SLOTS },
    host: env.HOST,
    port: env.PORT,
    publicUrl: (env.PUBLIC_URL ?? `http://localhost:${env.PORT}`).replace(/\/$/, ''),
    metricsPort: env.METRICS_PORT ?? null,
    /** The number of proxies in front of the API; entries of `X-Forwarded-For` beyond them can be forged. */
    trustedProxies: env.NODE_ENV === 'production' ? env.TRUSTED_PROXIES : 0,
    failedAttemptsPerMinute: env.FAILED_ATTEMPTS_PER_MINUTE,
    logLevel: env.LOG_LEVEL,
    encryptionKeys: env.ENCRYPTION_KEYS,
    signingKeys: env.SIGNING_KEYS,
    auth: {
      jwksUrl: env.AUTH_JWKS_URL ?? null,
      issuer: env.AUTH_ISSUER ?? 'urn:linepace:local',
      audience: env.AUTH_AUDIENCE ?? null,
      authorizedParties: env.AUTH_AUTHORIZED_PARTIES ?? null,
      localJwk: env.AUTH_LOCAL_JWK ?? null,
    },
    webhooks: { allowPrivate: env.WEBHOOK_ALLOW_PRIVATE },
    simulator:
      env.SIMULATOR_URL && env.SIMULATOR_SECRET
        ? { url: env.SIMULATOR_URL, secret: env.SIMULATOR_SECRET }
        : null,
    stripe:
      env.STRIPE_SECRET_KEY && env.STRIPE_WEBHOOK_SECRET && env.STRIPE_PRICES
        ? {
            apiKey: env.STRIPE_SECRET_KEY,
            webhookSecret: env.STRIPE_WEBHOOK_SECRET,
            prices: env.STRIPE_PRICES,
            ...(env.STRIPE_API_URL !== undefined && { baseUrl: env.STRIPE_API_URL }),
          }
        : null,
    twilioUrl: env.TWILIO_API_URL ?? null,
    inboxPollSeconds: env.INBOX_POLL_SECONDS,
    mail: { smtpUrl: env.SMTP_URL ?? null, from: env.MAIL_FROM ?? 'Linepace <no-reply@linepace.example>' },
    llm: {
      timeoutMs: env.LLM_TIMEOUT_SECONDS * 1000,
      endpoint:
        env.LLM_BASE_URL && env.LLM_MODEL
          ? { baseUrl: env.LLM_BASE_URL, apiKey: env.LLM_API_KEY ?? null, model: env.LLM_MODEL }
          : null,
    },
    ffmpeg: { path: env.FFMPEG_PATH ?? null, searchPath: env.PATH },
    storageQuota: storageQuota(env.STORAGE_QUOTA_GB),
    storage: {
      folder: `${env.DATA_DIR}/attachments`,
      s3:
        env.S3_BUCKET && env.S3_ACCESS_KEY_ID && env.S3_SECRET_ACCESS_KEY
          ? {
              bucket: env.S3_BUCKET,
              region: env.S3_REGION,
              endpoint: env.S3_ENDPOINT ?? null,
              accessKeyId: env.S3_ACCESS_KEY_ID,
              secretAccessKey: env.S3_SECRET_ACCESS_KEY,
            }
          : null,
    },
  };
}

const temporalServer = (env: TemporalVariables) => ({
  address: env.TEMPORAL_ADDRESS,
  namespace: env.TEMPORAL_NAMESPACE,
  apiKey: env.TEMPORAL_API_KEY ?? null,
  tls: temporalTls(env),
});

/** TLS is on if requested, or if any variable is set that requires it. */
function temporalTls(env: TemporalVariables) {
  const on = env.TEMPORAL_TLS ?? TLS_ONLY.some((variable) => env[variable] !== undefined);
  if (!on) return null;
  return {
    clientCertPath: env.TEMPORAL_TLS_CLIENT_CERT_PATH ?? null,
    clientKeyPath: env.TEMPORAL_TLS_CLIENT_KEY_PATH ?? null,
    serverCaCertPath: env.TEMPORAL_TLS_SERVER_CA_CERT_PATH ?? null,
    serverName: env.TEMPORAL_TLS_SERVER_NAME ?? null,
  };
}

/** Includes the API key, which must not be sent in the clear. */
const TLS_ONLY = [
  'TEMPORAL_API_KEY',
  'TEMPORAL_TLS_CLIENT_CERT_PATH',
  'TEMPORAL_TLS_CLIENT_KEY_PATH',
  'TEMPORAL_TLS_SERVER_CA_CERT_PATH',
  'TEMPORAL_TLS_SERVER_NAME',
] as const;

const databaseUrls = (env: { DATABASE_URL: string; DATABASE_SYSTEM_URL: string }) => ({
  tenantUrl: env.DATABASE_URL,
  systemUrl: env.DATABASE_SYSTEM_URL,
});

/**
 * Parses the environment.
 * @throws with a list of all problems.
 */
export const readConfig = (environment: EnvironmentVariables): Config =>
  Object.freeze(read(validated(Environment, environment, contradictions)));

/**
 * The configuration of `npm run migrate`: the login that owns the schema, which no other process needs, and the logins
 * that it creates.
 * @throws with a list of all problems.
 */
export function readMigrationConfig(environment: EnvironmentVariables) {
  const env = validated(z.object({ DATABASE_OWNER_URL: PostgresUrl, ...DatabaseLogins }), environment);
  return { ownerUrl: env.DATABASE_OWNER_URL, ...databaseUrls(env) };
}

/**
 * The configuration of the operators' command line: where the database and Temporal are, and no secret.
 * @throws with a list of all problems.
 */
export function readOperatorsConfig(environment: EnvironmentVariables) {
  const env = validated(TemporalVariables.extend(DatabaseLogins), environment);
  return { database: databaseUrls(env), temporal: temporalServer(env) };
}

type EnvironmentVariables = Partial<Record<string, string>>;

interface Problem {
  variable: string;
  message: string;
}

/** @param contradictions checks the raw variables, so that it also runs if some are invalid. */
function validated<Output>(
  schema: z.ZodType<Output>,
  environment: EnvironmentVariables,
  contradictions: (given: EnvironmentVariables) => Problem[] = () => [],
): Output {
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
  const parsed = schema.safeParse(given);
  const invalid = parsed.error?.issues ?? [];
  const problems = [
    ...invalid.map(({ path, message }): Problem => ({ variable: path.join('.'), message })),
    ...contradictions(given),
  ];
  if (!parsed.success || problems.length > 0) {
    const lines = problems.map(({ variable, message }) => `  ${variable}: ${message}`);
    throw new Error(`Invalid configuration:\n${lines.join('\n')}`);
  }
  return parsed.data;
}

/** Rules that involve more than one variable. */
function contradictions(given: EnvironmentVariables): Problem[] {
  const env: Partial<Record<keyof typeof Environment.shape, string>> = given;
  const problems: [wrong: boolean, variable: string, message: string][] = [
    [
      !env.AUTH_JWKS_URL && !env.AUTH_LOCAL_JWK,
      'AUTH_JWKS_URL',
      'is required (or AUTH_LOCAL_JWK on a single machine)',
    ],
    [Boolean(env.AUTH_JWKS_URL) && !env.AUTH_ISSUER, 'AUTH_ISSUER', 'is required with AUTH_JWKS_URL'],
    [Boolean(env.S3_BUCKET) && !env.S3_ACCESS_KEY_ID, 'S3_ACCESS_KEY_ID', 'is required with S3_BUCKET'],
    [
      Boolean(env.S3_BUCKET) && !env.S3_SECRET_ACCESS_KEY,
      'S3_SECRET_ACCESS_KEY',
      'is required with S3_BUCKET',
    ],
    [
      Boolean(env.SIMULATOR_URL) && !env.SIMULATOR_SECRET,
      'SIMULATOR_SECRET',
      'is required with SIMULATOR_URL',
    ],
    [
      Boolean(env.STRIPE_SECRET_KEY) && !env.STRIPE_WEBHOOK_SECRET,
      'STRIPE_WEBHOOK_SECRET',
      'is required with STRIPE_SECRET_KEY',
    ],
    [
      Boolean(env.STRIPE_SECRET_KEY) && !env.STRIPE_PRICES,
      'STRIPE_PRICES',
      'is required with STRIPE_SECRET_KEY',
    ],
    [Boolean(env.LLM_BASE_URL) && !env.LLM_MODEL, 'LLM_MODEL', 'is required with LLM_BASE_URL'],
    [
      Boolean(env.TEMPORAL_TLS_CLIENT_CERT_PATH) && !env.TEMPORAL_TLS_CLIENT_KEY_PATH,
      'TEMPORAL_TLS_CLIENT_KEY_PATH',
      'is required with TEMPORAL_TLS_CLIENT_CERT_PATH',
    ],
    [
      Boolean(env.TEMPORAL_TLS_CLIENT_KEY_PATH) && !env.TEMPORAL_TLS_CLIENT_CERT_PATH,
      'TEMPORAL_TLS_CLIENT_CERT_PATH',
      'is required with TEMPORAL_TLS_CLIENT_KEY_PATH',
    ],
    ...TLS_ONLY.map((variable): [boolean, string, string] => [
      env.TEMPORAL_TLS === '0' && env[variable] !== undefined,
      'TEMPORAL_TLS',
      `cannot be 0 with ${variable}`,
    ]),
  ];
  if (env.NODE_ENV === 'production') {
    problems.push(
      [Boolean(env.SMTP_URL) && !env.MAIL_FROM, 'MAIL_FROM', 'is required with SMTP_URL in production'],
      [!env.PUBLIC_URL, 'PUBLIC_URL', 'is required in production'],
      [isPlainHttp(env.PUBLIC_URL), 'PUBLIC_URL', 'must be https in production'],
      [isPlainHttp(env.AUTH_JWKS_URL), 'AUTH_JWKS_URL', 'must be https in production'],
      [
        !env.AUTH_AUDIENCE && !env.AUTH_AUTHORIZED_PARTIES,
        'AUTH_AUDIENCE',
        'is required in production (or AUTH_AUTHORIZED_PARTIES), because other applications use the same issuer',
      ],
      [!env.TEMPORAL_ADDRESS, 'TEMPORAL_ADDRESS', 'is required in production'],
      [Boolean(env.SIMULATOR_URL), 'SIMULATOR_URL', 'is not allowed in production'],
      [env.WEBHOOK_ALLOW_PRIVATE === '1', 'WEBHOOK_ALLOW_PRIVATE', 'is not allowed in production'],
    );
  }
  return problems.flatMap(([wrong, variable, message]) => (wrong ? [{ variable, message }] : []));
}

const isPlainHttp = (url: string | undefined): boolean => url !== undefined && /^http:/i.test(url);
