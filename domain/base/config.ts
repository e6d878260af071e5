import type { z } from 'zod';
import type { BillingMode } from '../billing/entitlement.ts';
import {
  documentationOf,
  Environment,
  HttpUrl,
  MigrationEnvironment,
  OperatorsEnvironment,
  type Reader,
  type TemporalEnvironment,
} from './environment.ts';
import { storageQuota } from '../messages/storage-quota.ts';

/** The configuration of a process. docs/configuration.md describes the variables. */
export type Config = Readonly<ReturnType<typeof configOf>>;

type Variables = z.output<typeof Environment>;
type BillingVariables = Pick<Variables, 'NODE_ENV' | 'STRIPE_SECRET_KEY'>;
type NewBillingMode = Exclude<BillingMode, 'invoice'>;
type TemporalVariables = z.output<typeof TemporalEnvironment>;

/** How long a released build is watched with a share of the workflows, and then with all. */
export const RELEASE_WATCH_SECONDS = 60;

const configOf = (env: Variables) => ({
  production: env.NODE_ENV === 'production',
  database: {
    ...databaseUrls(env),
    replicaUrl: env.DATABASE_REPLICA_URL,
    listenUrl: env.DATABASE_DIRECT_URL ?? env.DATABASE_SYSTEM_URL,
  },
  databasePoolSize: env.DATABASE_POOL_SIZE,
  temporal: {
    ...temporalServer(env),
    publicUrl: publicUrlOf(env),
    maxCachedWorkflows: env.MAX_CACHED_WORKFLOWS,
    buildId: env.WORKER_BUILD_ID,
    /** A worker of a new build releases it, and watches it as long; null: somebody does. */
    autoRelease: env.WORKER_AUTO_RELEASE ? { watchSeconds: RELEASE_WATCH_SECONDS } : null,
  },
  /** The users who operate the installation, by the `sub` of their session; null: nobody. */
  operators: env.OPERATORS ?? env.TEMPORAL_CODEC_OPERATORS,
  /** The users who may decode payloads, by the `sub` of their session; null: nobody. */
  codec: {
    operators: env.TEMPORAL_CODEC_OPERATORS,
  },
  temporalUi: temporalUiOf(env),
  worker: { names: env.WORKER_QUEUES, slots: env.WORKER_SLOTS },
  host: env.HOST ?? (env.NODE_ENV === 'production' ? '0.0.0.0' : '127.0.0.1'),
  port: env.PORT,
  publicUrl: publicUrlOf(env),
  metricsPort: env.METRICS_PORT,
  securityContact: env.SECURITY_CONTACT,
  /** The number of proxies in front of the API; entries of `X-Forwarded-For` beyond them can be forged. */
  trustedProxies: env.TRUSTED_PROXIES,
  failedAttemptsPerMinute: env.FAILED_ATTEMPTS_PER_MINUTE,
  traces: { endpoint: env.OTEL_EXPORTER_OTLP_ENDPOINT, ratio: env.OTEL_TRACES_SAMPLER_ARG },
  logLevel: env.LOG_LEVEL,
  encryptionKeys: env.ENCRYPTION_KEYS,
  signingKeys: env.SIGNING_KEYS,
  auth: {
    jwksUrl: env.AUTH_JWKS_URL,
    issuer: env.AUTH_ISSUER,
    audience: env.AUTH_AUDIENCE,
    authorizedParties: env.AUTH_AUTHORIZED_PARTIES,
    localJwk: env.AUTH_LOCAL_JWK,
    /** The OpenID Connect client for signing in to the console; null: none. */
    client: env.AUTH_CLIENT_ID === null ? null : { id: env.AUTH_CLIENT_ID, secret: env.AUTH_CLIENT_SECRET },
    scopes: env.AUTH_SCOPES,
    claimRules: {
      organizationClaim: env.AUTH_ORGANIZATION_CLAIM,
      rolesClaim: env.AUTH_ROLES_CLAIM,
      adminRoles: env.AUTH_ADMIN_ROLES,
      memberRoles: env.AUTH_MEMBER_ROLES,
    },
    provisionMembers: env.AUTH_PROVISION_MEMBERS,
    createWorkspaces: env.AUTH_CREATE_WORKSPACES,
    caFile: env.AUTH_CA_FILE,
    sessions: { idleMinutes: env.AUTH_SESSION_IDLE_MINUTES, hours: env.AUTH_SESSION_HOURS },
  },
  webhooks: { allowPrivate: env.WEBHOOK_ALLOW_PRIVATE },
  simulator: simulator(env),
  stripe: stripe(env),
  /** Who pays in a new agency, and in a new workspace without an agency. */
  newBillingMode: newBillingMode(env),
  twilioServer: { url: env.TWILIO_API_URL, caFile: env.TWILIO_CA_FILE },
  twilioAccount: twilioAccount(env),
  inboxPollSeconds: env.INBOX_POLL_SECONDS,
  crmPollSeconds: env.CRM_POLL_SECONDS,
  crms: {
    hubspot: { apiUrl: env.HUBSPOT_API_URL, caFile: env.HUBSPOT_CA_FILE },
    highlevel: {
      apiUrl: env.HIGHLEVEL_API_URL,
      caFile: env.HIGHLEVEL_CA_FILE,
      webhookKey: env.HIGHLEVEL_WEBHOOK_KEY,
      app: highLevelApp(env),
    },
  },
  /** null: the operating system's. */
  dnsServers: env.DNS_SERVERS,
  mail: { smtpUrl: env.SMTP_URL, from: env.MAIL_FROM },
  chats: {
    telegram:
      env.TELEGRAM_BOT_TOKEN === null
        ? null
        : {
            token: env.TELEGRAM_BOT_TOKEN,
            apiUrl: env.TELEGRAM_API_URL,
            caFile: env.TELEGRAM_CA_FILE,
            polls: pollsTelegram(env),
          },
    slack: slackApp(env),
  },
  mailServers: { caFile: env.SMTP_CA_FILE, ehloName: env.SMTP_EHLO_NAME },
  llm: {
    timeoutMs: env.LLM_TIMEOUT_SECONDS * 1000,
    endpoint: llmEndpoint(env),
    transcription: transcriptionEndpoint(env),
    inTestMode: env.TEST_MODE_MODEL === '1',
  },
  ffmpeg: { path: env.FFMPEG_PATH, searchPath: env.PATH },
  retention: env.RETENTION_DAYS,
  storageQuota: storageQuota(env.STORAGE_QUOTA_GB),
  storage: { folder: `${env.DATA_DIR}/attachments`, s3: bucket(env) },
});

const publicUrlOf = ({ PUBLIC_URL: url, PORT: port }: Pick<Variables, 'PUBLIC_URL' | 'PORT'>): string =>
  (url ?? `http://localhost:${port}`).replace(/\/$/, '');

const simulator = ({ SIMULATOR_URL: url, SIMULATOR_SECRET: secret }: Variables) =>
  url !== null && secret !== null ? { url, secret } : null;

function stripe(env: Variables) {
  const { STRIPE_SECRET_KEY: apiKey, STRIPE_WEBHOOK_SECRET: webhookSecret, STRIPE_PRICES: prices } = env;
  if (apiKey === null || webhookSecret === null || prices === null) return null;
  const baseUrl = env.STRIPE_API_URL;
  return { apiKey, webhookSecret, prices, caFile: env.STRIPE_CA_FILE, ...(baseUrl !== null && { baseUrl }) };
}

/** Without a payment provider in production, nobody can pay. */
const newBillingMode = ({ NODE_ENV: mode, STRIPE_SECRET_KEY: key }: BillingVariables): NewBillingMode =>
  mode === 'production' && key === null ? 'none' : 'card';
const twilioAccount = ({
  TWILIO_ACCOUNT_SID: accountSid,
  TWILIO_AUTH_TOKEN: authToken,
  TWILIO_SHARED_KEY_SECRET: sharedKeySecret,
  TWILIO_MESSAGING_SERVICE_SID: messagingServiceSid,
}: Variables) =>
  accountSid !== null && authToken !== null
    ? { accountSid, authToken, sharedKeySecret, messagingServiceSid }
    : null;

/** Telegram calls only URLs of https, and another server with its API whatever it reaches. */
const pollsTelegram = (env: Variables): boolean =>
  env.TELEGRAM_UPDATES === null
    ? env.TELEGRAM_API_URL === null && !publicUrlOf(env).startsWith('https:')
    : env.TELEGRAM_UPDATES === 'polling';

const slackApp = ({
  SLACK_BOT_TOKEN: token,
  SLACK_SIGNING_SECRET: signingSecret,
  SLACK_API_URL: apiUrl,
  SLACK_CA_FILE: caFile,
}: Variables) => (token !== null && signingSecret !== null ? { token, signingSecret, apiUrl, caFile } : null);

const highLevelApp = ({
  HIGHLEVEL_CLIENT_ID: clientId,
  HIGHLEVEL_CLIENT_SECRET: clientSecret,
  HIGHLEVEL_SMS_PROVIDER_ID: smsProviderId,
  HIGHLEVEL_CALL_PROVIDER_ID: callProviderId,
}: Variables) =>
  clientId !== null && clientSecret !== null
    ? { clientId, clientSecret, smsProviderId, callProviderId }
    : null;

const llmEndpoint = ({
  LLM_BASE_URL: baseUrl,
  LLM_MODEL: model,
  LLM_API_KEY: apiKey,
  LLM_CA_FILE: caFile,
}: Variables) => (baseUrl !== null && model !== null ? { baseUrl, apiKey, model, caFile } : null);

const transcriptionEndpoint = ({
  TRANSCRIPTION_BASE_URL: baseUrl,
  TRANSCRIPTION_MODEL: model,
  TRANSCRIPTION_API_KEY: apiKey,
  LLM_CA_FILE: caFile,
}: Variables) => (baseUrl !== null && model !== null ? { baseUrl, apiKey, model, caFile } : null);

function bucket(env: Variables) {
  const { S3_BUCKET, S3_ACCESS_KEY_ID: accessKeyId, S3_SECRET_ACCESS_KEY: secretAccessKey } = env;
  if (S3_BUCKET === null || accessKeyId === null || secretAccessKey === null) return null;
  const { S3_REGION: region, S3_ENDPOINT: endpoint } = env;
  return { bucket: S3_BUCKET, region, endpoint, accessKeyId, secretAccessKey, caFile: env.S3_CA_FILE };
}

const temporalServer = (env: TemporalVariables) => ({
  address: env.TEMPORAL_ADDRESS,
  namespace: env.TEMPORAL_NAMESPACE,
  apiKey: env.TEMPORAL_API_KEY,
  apiKeyPath: env.TEMPORAL_API_KEY_FILE,
  codecKeys: env.TEMPORAL_CODEC_KEYS,
  tls: temporalTls(env),
});

/** TLS is on if requested, or if any variable is set that requires it. */
function temporalTls(env: TemporalVariables) {
  const isOn = env.TEMPORAL_TLS ?? TLS_ONLY.some((variable) => env[variable] !== null);
  if (!isOn) return null;
  return {
    clientCertPath: env.TEMPORAL_TLS_CLIENT_CERT_PATH,
    clientKeyPath: env.TEMPORAL_TLS_CLIENT_KEY_PATH,
    serverCaCertPath: env.TEMPORAL_TLS_SERVER_CA_CERT_PATH,
    serverName: env.TEMPORAL_TLS_SERVER_NAME,
  };
}

/** Includes the API key, which must not be sent in the clear. */
const TLS_ONLY = [
  'TEMPORAL_API_KEY',
  'TEMPORAL_API_KEY_FILE',
  'TEMPORAL_TLS_CLIENT_CERT_PATH',
  'TEMPORAL_TLS_CLIENT_KEY_PATH',
  'TEMPORAL_TLS_SERVER_CA_CERT_PATH',
  'TEMPORAL_TLS_SERVER_NAME',
] as const;

const databaseUrls = (env: { DATABASE_URL: string; DATABASE_SYSTEM_URL: string }) => ({
  tenantUrl: env.DATABASE_URL,
  systemUrl: env.DATABASE_SYSTEM_URL,
});

/** How a process makes sure that it can read the files that its variables name. */
export interface NamedFiles {
  reader: Reader;
  /** null: it can be read. */
  whyUnreadable(file: string): string | null;
}

/**
 * Parses the environment.
 * @param files without it, files are not looked at.
 * @throws with a list of all problems.
 */
export const readConfig = (environment: EnvironmentVariables, files?: NamedFiles): Config =>
  Object.freeze(
    configOf(
      validated(
        Environment,
        environment,
        (given) => [...contradictions(given), ...(files ? unreadable(given, files) : [])],
        recommended,
      ),
    ),
  );

/**
 * The configuration of `npm run migrate`: the login that owns the schema, which no other process needs, and the logins
 * that it creates.
 * @throws with a list of all problems.
 */
export function readMigrationConfig(environment: EnvironmentVariables) {
  const env = validated(MigrationEnvironment, environment);
  return { ownerUrl: env.DATABASE_OWNER_URL, ...databaseUrls(env) };
}

/**
 * The configuration of the operators' command line: the connections to the database and Temporal, and what the links and the billing
 * modes of new tenants depend on.
 * @throws with a list of all problems.
 */
export function readOperatorsConfig(environment: EnvironmentVariables) {
  const env = validated(OperatorsEnvironment, environment);
  return {
    database: databaseUrls(env),
    temporal: { ...temporalServer(env), publicUrl: publicUrlOf(env) },
    temporalUi: temporalUiOf(env),
    publicUrl: publicUrlOf(env),
    newBillingMode: newBillingMode(env),
    /** Whether people sign in at an identity provider. */
    hasIdentityProvider: env.AUTH_JWKS_URL !== null || env.AUTH_CLIENT_ID !== null,
  };
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
  recommendations: (given: EnvironmentVariables) => Problem[] = () => [],
): Output {
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
  const parsed = schema.safeParse(given);
  const invalid = parsed.error?.issues ?? [];
  const problems = [
    ...invalid.map(({ path, message }): Problem => {
      const isMissing = given[String(path[0])] === undefined;
      return { variable: path.join('.'), message: isMissing ? 'is required' : message };
    }),
    ...contradictions(given),
  ];
  if (!parsed.success || problems.length > 0) {
    const lines = [...problems, ...recommendations(given)].map(
      ({ variable, message }) => `  ${variable}: ${message}`,
    );
    throw new Error(`Invalid configuration:\n${lines.join('\n')}`);
  }
  return parsed.data;
}

type Given = Partial<Record<keyof typeof Environment.shape, string>>;

/** The origin of the Temporal UI; null: unknown. */
const temporalUiOf = ({ TEMPORAL_UI_ORIGIN: url }: { TEMPORAL_UI_ORIGIN: string | null }): string | null =>
  url === null ? null : new URL(url).origin;

const NAMES_FILE = /^TEMPORAL_API_KEY_FILE$|^TEMPORAL_TLS_\w+_PATH$|_CA_FILE$/;

function unreadable(env: Given, { reader, whyUnreadable }: NamedFiles): Problem[] {
  return Object.entries(Environment.shape).flatMap(([variable, schema]) => {
    const file = NAMES_FILE.test(variable) ? env[variable as keyof Given] : undefined;
    if (file === undefined || !documentationOf(schema).readBy.includes(reader)) return [];
    const reason = whyUnreadable(file);
    return reason === null ? [] : [{ variable, message: `cannot be read: ${reason}` }];
  });
}

type Pair = readonly [required: keyof Given, given: keyof Given];

/** Variables that are required in production if another is set. */
export const REQUIRED_IN_PRODUCTION: readonly Pair[] = [['MAIL_FROM', 'SMTP_URL']];

/** Variables that are required if another is set. */
export const REQUIRED_WITH: readonly Pair[] = [
  ['AUTH_ISSUER', 'AUTH_JWKS_URL'],
  ['AUTH_ISSUER', 'AUTH_CLIENT_ID'],
  ['AUTH_CLIENT_ID', 'AUTH_CLIENT_SECRET'],
  ['AUTH_ORGANIZATION_CLAIM', 'AUTH_ROLES_CLAIM'],
  ['AUTH_ROLES_CLAIM', 'AUTH_ADMIN_ROLES'],
  ['AUTH_ROLES_CLAIM', 'AUTH_MEMBER_ROLES'],
  ['S3_ACCESS_KEY_ID', 'S3_BUCKET'],
  ['S3_SECRET_ACCESS_KEY', 'S3_BUCKET'],
  ['SIMULATOR_SECRET', 'SIMULATOR_URL'],
  ['STRIPE_WEBHOOK_SECRET', 'STRIPE_SECRET_KEY'],
  ['STRIPE_PRICES', 'STRIPE_SECRET_KEY'],
  ['TWILIO_AUTH_TOKEN', 'TWILIO_ACCOUNT_SID'],
  ['TWILIO_ACCOUNT_SID', 'TWILIO_AUTH_TOKEN'],
  ['TWILIO_ACCOUNT_SID', 'TWILIO_MESSAGING_SERVICE_SID'],
  ['TWILIO_ACCOUNT_SID', 'TWILIO_SHARED_KEY_SECRET'],
  ['SLACK_SIGNING_SECRET', 'SLACK_BOT_TOKEN'],
  ['HIGHLEVEL_CLIENT_ID', 'HIGHLEVEL_CLIENT_SECRET'],
  ['HIGHLEVEL_CLIENT_SECRET', 'HIGHLEVEL_CLIENT_ID'],
  ['HIGHLEVEL_CLIENT_ID', 'HIGHLEVEL_SMS_PROVIDER_ID'],
  ['HIGHLEVEL_CLIENT_ID', 'HIGHLEVEL_CALL_PROVIDER_ID'],
  ['LLM_MODEL', 'LLM_BASE_URL'],
  ['TRANSCRIPTION_MODEL', 'TRANSCRIPTION_BASE_URL'],
  ['TEMPORAL_CODEC_KEYS', 'TEMPORAL_CODEC_OPERATORS'],
  ['TEMPORAL_CODEC_OPERATORS', 'TEMPORAL_UI_ORIGIN'],
  ['TEMPORAL_TLS_CLIENT_KEY_PATH', 'TEMPORAL_TLS_CLIENT_CERT_PATH'],
  ['TEMPORAL_TLS_CLIENT_CERT_PATH', 'TEMPORAL_TLS_CLIENT_KEY_PATH'],
];

/** Rules that involve more than one variable. */
function contradictions(env: Given): Problem[] {
  const problems: Problem[] = [];
  for (const [required, given] of REQUIRED_WITH)
    if (env[given] && !env[required])
      problems.push({ variable: required, message: `is required with ${given}` });
  if (env.AUTH_CLIENT_ID && env.AUTH_ISSUER && !HttpUrl.safeParse(env.AUTH_ISSUER).success)
    problems.push({ variable: 'AUTH_ISSUER', message: 'must be a URL with AUTH_CLIENT_ID' });
  if (env.TEMPORAL_API_KEY && env.TEMPORAL_API_KEY_FILE)
    problems.push({ variable: 'TEMPORAL_API_KEY', message: 'cannot be set with TEMPORAL_API_KEY_FILE' });
  if (env.TRUSTED_PROXIES && env.NODE_ENV !== 'production')
    problems.push({
      variable: 'TRUSTED_PROXIES',
      message: 'requires NODE_ENV=production; otherwise unsafe settings would be accepted behind a proxy',
    });
  if (env.TEMPORAL_TLS === '0')
    for (const variable of TLS_ONLY.filter((name) => env[name] !== undefined))
      problems.push({ variable: 'TEMPORAL_TLS', message: `cannot be 0 with ${variable}` });
  return env.NODE_ENV === 'production' ? [...problems, ...productionProblems(env)] : problems;
}

type Rule = [isBroken: boolean, variable: keyof Given, message: string];

function productionProblems(env: Given): Problem[] {
  const rules: Rule[] = [
    ...REQUIRED_IN_PRODUCTION.map(([required, given]): Rule => [
      Boolean(env[given]) && !env[required],
      required,
      `is required with ${given} in production`,
    ]),
    [!env.PUBLIC_URL, 'PUBLIC_URL', 'is required in production'],
    [isPlainHttp(env.PUBLIC_URL), 'PUBLIC_URL', 'must be https in production'],
    [isPlainHttp(env.AUTH_JWKS_URL), 'AUTH_JWKS_URL', 'must be https in production'],
    [
      Boolean(env.AUTH_CLIENT_ID) && isPlainHttp(env.AUTH_ISSUER),
      'AUTH_ISSUER',
      'must be https in production with AUTH_CLIENT_ID',
    ],
    [
      Boolean(env.AUTH_JWKS_URL) && !env.AUTH_AUDIENCE && !env.AUTH_AUTHORIZED_PARTIES,
      'AUTH_AUDIENCE',
      'is required in production with AUTH_JWKS_URL (or AUTH_AUTHORIZED_PARTIES), because other applications use the same issuer',
    ],
    [!env.TEMPORAL_ADDRESS, 'TEMPORAL_ADDRESS', 'is required in production'],
    [Boolean(env.SIMULATOR_URL), 'SIMULATOR_URL', 'is not allowed in production'],
    [env.WEBHOOK_ALLOW_PRIVATE === '1', 'WEBHOOK_ALLOW_PRIVATE', 'is not allowed in production'],
  ];
  return rules.flatMap(([isBroken, variable, message]) => (isBroken ? [{ variable, message }] : []));
}

/** What a configuration should have, named only beside what it must have. */
function recommended(env: Given): Problem[] {
  const isProduction = env.NODE_ENV === 'production';
  const rules: [isMissing: boolean, variable: keyof Given, message: string][] = [
    [!isProduction, 'NODE_ENV', 'is not production: set NODE_ENV=production for anything but development'],
    [
      isProduction && !env.SECURITY_CONTACT,
      'SECURITY_CONTACT',
      'is recommended in production: without it, /.well-known/security.txt tells nobody where to report a vulnerability',
    ],
  ];
  return rules.flatMap(([isMissing, variable, message]) => (isMissing ? [{ variable, message }] : []));
}

const isPlainHttp = (url: string | undefined): boolean => url !== undefined && /^http:/i.test(url);
