import ipaddr from 'ipaddr.js';
import { z } from 'zod';
import { keyRingProblem } from './key-ring.ts';
import { parseOwnJson } from './own-json.ts';
import { DEFAULT_RETENTION, readRetention } from './retention.ts';

/** The environment variables of all processes: what they accept, and what docs/configuration.md says about them. */

export type Reader = 'API' | 'workers' | '`migrate`' | '`npm start`';

interface Documentation {
  readBy: readonly Reader[];
  /** In Markdown, as a cell of a table on a page of docs/. */
  description: string;
  /** Replaces the schema's default in the documentation if that says too little. */
  shownDefault?: string;
}

const DOCUMENTATION = z.registry<Documentation>();

const documented =
  (...readBy: Reader[]) =>
  <Schema extends z.ZodType>(schema: Schema, description: string, shownDefault?: string): Schema => {
    const variable = schema.clone();
    DOCUMENTATION.add(variable, { readBy, description, ...(shownDefault !== undefined && { shownDefault }) });
    return variable;
  };

const forApi = documented('API');
const forWorkers = documented('workers');
const forBoth = documented('API', 'workers');
const forAll = documented('API', 'workers', '`migrate`');
export const forStart = documented('`npm start`');

export function documentationOf(variable: z.ZodType): Documentation {
  const documentation = DOCUMENTATION.get(variable);
  if (!documentation) throw new Error('the variable has no documentation');
  return documentation;
}

/** A variable that may be absent, as null. */
const optional = <Schema extends z.ZodType>(schema: Schema) => schema.nullable().default(null);

const Flag = z.enum(['0', '1']).transform((value) => value === '1');
const Port = z.coerce.number().int().min(0).max(65_535);
export const HttpUrl = z.url({ protocol: /^https?$/ });
/** Comma-separated, at least one value. */
const List = z
  .string()
  .transform((text) => text.split(',').flatMap((value) => value.trim() || []))
  .pipe(z.array(z.string()).min(1, 'must not be empty'));

/** Separated by spaces or commas, with `openid`. */
const Scopes = z
  .string()
  .transform((text) => text.split(/[\s,]+/).filter((scope) => scope !== ''))
  .refine((scopes) => scopes.includes('openid'), 'must include openid');

const PostgresUrl = z.url({ protocol: /^postgres(ql)?$/ });

/** `{"plans": {"mini": "price_…", "starter": …, "growth": …}, "lines": {"phone": …, "email": …}}` */
const StripePrices = z
  .string()
  .transform((text, context) => {
    try {
      return parseOwnJson(text);
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

function isDnsServer(text: string): boolean {
  const [, v6, v4, port] = /^(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/.exec(text) ?? [];
  const isV4 = (address: string) => ipaddr.IPv4.isValidFourPartDecimal(address);
  const isV6 = (address: string) => ipaddr.IPv6.isValid(address);
  if (port === undefined) return isV4(text) || isV6(text);
  return Number(port) < 65_536 && (v6 === undefined ? isV4(v4 ?? '') : isV6(v6));
}

/** `192.0.2.53,[2001:db8::53]:5353` */
const DnsServers = List.pipe(
  z.array(z.string().refine(isDnsServer, 'must be an IP address, with an optional port: 192.0.2.53:53')),
);

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

/** `attempts=90,mails=7` */
const RetentionDays = z.string().transform((text, context) => {
  const { retention, problems } = readRetention(text);
  for (const message of problems) context.addIssue({ code: 'custom', message });
  return retention;
});

/** `1:base64,2:base64` */
const KeyRing = z.string().superRefine((text, context) => {
  const message = keyRingProblem(text);
  if (message !== null) context.addIssue({ code: 'custom', message });
});

const MODE = {
  NODE_ENV: forBoth(
    z
      .enum(['production', 'development', 'test'], 'must be production, development or test')
      .default('development'),
    '`production` in every deployment: requires safe settings, and refuses those that are only for a local installation',
  ),
};

const DATABASE_LOGINS = {
  DATABASE_URL: forAll(
    PostgresUrl,
    "URL of the PostgreSQL database (15 or later) for the login `linepace_tenant`. For `npm start`: the owner's URL, from which the logins are derived",
    'required; embedded by `npm start`',
  ),
  DATABASE_SYSTEM_URL: forAll(PostgresUrl, 'URL of the same database for the login `linepace_system`'),
};

const DATABASE_OWNER = {
  DATABASE_OWNER_URL: documented('`migrate`')(PostgresUrl, 'URL of the same database for its owner'),
};

const DATABASE = {
  DATABASE_REPLICA_URL: forApi(
    optional(PostgresUrl),
    'URL of a replica for the login `linepace_tenant`. Analytics, searches and exports read from it, so they [may be slightly out of date](scaling.md#a-replica)',
  ),
  DATABASE_DIRECT_URL: forBoth(
    optional(PostgresUrl),
    'direct URL of the same database for the login `linepace_system`, bypassing a pooler ([PgBouncer](scaling.md#pgbouncer))',
    '`DATABASE_SYSTEM_URL`',
  ),
  DATABASE_POOL_SIZE: forBoth(
    z.coerce.number().int().min(1).max(200).default(10),
    'connections of an API process for requests of workspaces. In total, an API process opens up to 2.5 times as many plus 12, and a worker process 4 times as many plus 3',
  ),
};

const TEMPORAL_SERVER = {
  TEMPORAL_ADDRESS: forBoth(
    z.string().default('localhost:7233'),
    '`host:port` of the Temporal server (1.29 or later)',
    'required in production; local by `npm start`',
  ),
  TEMPORAL_NAMESPACE: forBoth(
    z.string().default('default'),
    'the Temporal namespace. In a managed one, register the Keyword search attributes `WorkspaceId`, `LineId` and `State`',
  ),
  TEMPORAL_API_KEY: forBoth(optional(z.string()), 'API key of a managed Temporal'),
  TEMPORAL_API_KEY_FILE: forBoth(
    optional(z.string()),
    'a file that contains the API key. Like the PEM files, it is read again when it changes',
  ),
  TEMPORAL_TLS: forBoth(
    optional(Flag),
    'connect to Temporal with TLS',
    '`1` with an API key or a variable below',
  ),
  TEMPORAL_TLS_CLIENT_CERT_PATH: forBoth(optional(z.string()), 'PEM file of the client certificate (mTLS)'),
  TEMPORAL_TLS_CLIENT_KEY_PATH: forBoth(optional(z.string()), "PEM file of the client certificate's key"),
  TEMPORAL_TLS_SERVER_CA_CERT_PATH: forBoth(optional(z.string()), "PEM file of the server's CA"),
  TEMPORAL_TLS_SERVER_NAME: forBoth(optional(z.string()), "the name in the server's certificate"),
  TEMPORAL_CODEC_KEYS: forBoth(
    optional(z.string()),
    'comma-separated `id:base64` keys of 32 bytes that encrypt payloads in Temporal; the first encrypts, all decrypt; with `only` as the last entry, payloads that are not encrypted are refused. [What they cover, and how to introduce them](security.md#encrypting-what-temporal-stores)',
  ),
};

const OPERATORS = {
  OPERATORS: forApi(
    optional(List),
    'comma-separated ids (`sub`) of users who operate the installation: `/api/operations/…` and the page Operations of the console are theirs',
    '`TEMPORAL_CODEC_OPERATORS`',
  ),
};

const TEMPORAL_CODEC = {
  TEMPORAL_CODEC_OPERATORS: forApi(
    optional(List),
    'comma-separated ids (`sub`) of users for whom `/codec` decrypts ([for operators](operators.md#encrypted-payloads))',
  ),
  TEMPORAL_UI_ORIGIN: forApi(
    optional(HttpUrl),
    'the origin of the Temporal UI: it may call `/codec`, and `npm run ops -- timeline` and the console of users in `OPERATORS` link to it',
  ),
};

const ADDRESS = {
  PORT: documented('API', '`npm start`')(Port.default(3000), 'port of the API'),
  HOST: forApi(
    optional(z.string()),
    'the address on which the API listens. `HOST=0.0.0.0 npm start` exposes the demo and its simulators to your network',
    '`0.0.0.0` in production, otherwise `127.0.0.1`',
  ),
  PUBLIC_URL: forBoth(
    optional(HttpUrl),
    'public URL of the API for carriers and recipients; with `https` in production',
    'required in production; `http://localhost:PORT`',
  ),
  TRUSTED_PROXIES: forApi(
    z.coerce.number().int().min(0).max(10).default(0),
    "number of proxies in front of the API. Requires `NODE_ENV=production`: the client's address is taken from the `X-Forwarded-For` header of the outermost one",
  ),
  FAILED_ATTEMPTS_PER_MINUTE: forApi(
    z.coerce.number().int().min(1).default(60),
    'limit on requests with an invalid key, link or signature per client address; further requests get `429`',
  ),
  SECURITY_CONTACT: forApi(
    optional(z.url({ protocol: /^(https|mailto)$/ })),
    'where to report a vulnerability, `https:` or `mailto:`, shown at `/.well-known/security.txt`',
  ),
  DNS_SERVERS: forApi(
    optional(DnsServers),
    'comma-separated addresses, with optional ports, of the name servers for checking [email authentication](compliance.md#email-authentication): `192.0.2.53,[2001:db8::53]:5353`',
    "the operating system's",
  ),
};

const KEYS = {
  ENCRYPTION_KEYS: forBoth(
    KeyRing,
    'comma-separated `id:base64` keys of 32 bytes that encrypt credentials in the database; the first encrypts, all decrypt. [How to rotate them](security.md)',
    'required; generated by `npm start`',
  ),
  SIGNING_KEYS: forBoth(
    KeyRing,
    'keys that sign links, in the same format',
    'required; generated by `npm start`',
  ),
};

const SIGN_IN = {
  AUTH_JWKS_URL: forBoth(
    optional(HttpUrl),
    "URL of the identity provider's keys, to verify session tokens; with `https` in production",
    'no identity provider: [people sign in by email](sign-in.md)',
  ),
  AUTH_ISSUER: forBoth(
    z.string().default('urn:linepace:local'),
    'the issuer of session tokens; required with `AUTH_JWKS_URL` and with `AUTH_CLIENT_ID`',
  ),
  AUTH_AUDIENCE: forBoth(
    optional(List),
    'comma-separated accepted `aud` values. In production this or `AUTH_AUTHORIZED_PARTIES` is required with `AUTH_JWKS_URL`',
  ),
  AUTH_AUTHORIZED_PARTIES: forBoth(optional(List), 'comma-separated accepted `azp` values'),
  AUTH_CLIENT_ID: forApi(
    optional(z.string()),
    'the client id for signing in to the console at `AUTH_ISSUER` through [OpenID Connect](security.md#signing-in-to-the-console) with PKCE. Its redirect URI is `PUBLIC_URL/auth/callback`',
  ),
  AUTH_CLIENT_SECRET: forApi(optional(z.string()), "the client's secret; without one it is a public client"),
  AUTH_SCOPES: forApi(
    Scopes.default(['openid', 'profile', 'email', 'offline_access']),
    'scopes to ask for when people sign in. `offline_access` is asked for only if the provider lists it, and given up if it refuses; leave it out to never ask',
    '`openid profile email offline_access`',
  ),
  AUTH_ORGANIZATION_CLAIM: forApi(
    optional(z.string()),
    'the claim that names the organizations of a user, such as `organization`, or a path: `app.organization`. [Its forms, and how to set up Keycloak](keycloak.md)',
    '`org_id`, or `id` of `o`',
  ),
  AUTH_ROLES_CLAIM: forApi(
    optional(z.string()),
    'the claim that lists the roles of a user, or a path: `realm_access.roles`. Requires `AUTH_ORGANIZATION_CLAIM`',
    '`org_role`, or `rol` of `o`',
  ),
  AUTH_ADMIN_ROLES: forApi(
    List.default(['admin', 'owner', 'org:admin', 'org:owner']),
    'comma-separated values of `AUTH_ROLES_CLAIM` that make an admin',
    '`admin,owner,org:admin,org:owner`',
  ),
  AUTH_MEMBER_ROLES: forApi(
    optional(List),
    'comma-separated values of `AUTH_ROLES_CLAIM` that make a member; whoever has neither these nor those of an admin is refused',
    'everybody in the organization is a member',
  ),
  AUTH_PROVISION_MEMBERS: forApi(
    Flag.default(false),
    '`1`: users whom the provider names in an organization become members of its workspace when they sign in, with the role that it names. Otherwise members need an invitation, and only admins become members',
  ),
  AUTH_CREATE_WORKSPACES: forApi(
    Flag.default(false),
    '`1`: the first admin of an organization without a workspace creates it by signing in',
  ),
  AUTH_CA_FILE: forApi(optional(z.string()), "PEM file of the identity provider's CA", 'a public CA'),
  AUTH_SESSION_IDLE_MINUTES: forApi(
    z.coerce.number().int().min(5).max(1440).default(60),
    'minutes without use after which a console session ends',
  ),
  AUTH_SESSION_HOURS: forApi(
    z.coerce.number().int().min(1).max(168).default(12),
    'hours after which a console session ends in any case',
  ),
};

const PROVIDERS = {
  TWILIO_ACCOUNT_SID: forBoth(
    optional(z.string().regex(/^AC\w+$/, 'must begin with AC')),
    'the account at Twilio in which numbers are bought for SMS lines that workspaces request. Keep it while lines use it',
    'no SMS lines are bought; simulated by `npm start`',
  ),
  TWILIO_AUTH_TOKEN: forBoth(optional(z.string()), 'its auth token'),
  TWILIO_SHARED_KEY_SECRET: forBoth(
    optional(z.string()),
    'its SharedKey, if it signs its webhooks with one',
    'they are signed with the auth token',
  ),
  TWILIO_MESSAGING_SERVICE_SID: forBoth(
    optional(z.string().regex(/^MG\w+$/, 'must begin with MG')),
    'a messaging service of that account with a registered A2P campaign, to which bought [numbers of the United States](adding-a-carrier.md#numbers-that-the-installation-buys) are added',
    'they are not registered, and US carriers filter their messages',
  ),
  TWILIO_API_URL: forBoth(optional(HttpUrl), "another server with Twilio's API", "Twilio's"),
  TWILIO_CA_FILE: forBoth(optional(z.string()), "PEM file of that server's CA", 'a public CA'),
  STRIPE_SECRET_KEY: forBoth(
    optional(z.string()),
    'the key for [payments](payments.md)',
    '[no payments](payments.md#without-payments); simulated by `npm start`',
  ),
  STRIPE_WEBHOOK_SECRET: forBoth(optional(z.string()), "the secret of Stripe's webhook"),
  STRIPE_PRICES: forBoth(
    optional(StripePrices),
    '`{"plans": {"mini": "price_…", "starter": "…", "growth": "…"}, "lines": {"phone": "…", "email": "…"}}`',
  ),
  STRIPE_API_URL: forBoth(optional(HttpUrl), "another server with Stripe's API", "Stripe's"),
  STRIPE_CA_FILE: forBoth(optional(z.string()), "PEM file of that server's CA", 'a public CA'),
  LLM_BASE_URL: forWorkers(
    optional(HttpUrl),
    'any OpenAI-compatible endpoint, for [drafts](ai-drafts.md) and personalization',
    'no drafts; simulated by `npm start`',
  ),
  LLM_API_KEY: forWorkers(optional(z.string()), "the endpoint's API key"),
  LLM_CA_FILE: forWorkers(optional(z.string()), "PEM file of the endpoint's CA", 'a public CA'),
  LLM_MODEL: forWorkers(optional(z.string()), 'the model; required with `LLM_BASE_URL`'),
  TRANSCRIPTION_BASE_URL: forWorkers(
    optional(HttpUrl),
    "any endpoint with OpenAI's `/audio/transcriptions`, for [voice notes](ai-drafts.md#voice-notes) of contacts",
    'no transcripts; simulated by `npm start`',
  ),
  TRANSCRIPTION_API_KEY: forWorkers(optional(z.string()), "that endpoint's API key"),
  TRANSCRIPTION_MODEL: forWorkers(optional(z.string()), 'its model; required with `TRANSCRIPTION_BASE_URL`'),
  TEST_MODE_MODEL: forWorkers(
    z.enum(['0', '1']).default('0'),
    '`1`: the model also writes for workspaces in [test mode](test-mode.md), which otherwise use a simulated one',
  ),
  LLM_TIMEOUT_SECONDS: forWorkers(
    z.coerce.number().min(0.1).max(120).default(45),
    'the time limit of a model call',
  ),
  SMTP_URL: forBoth(
    optional(z.url({ protocol: /^smtps?$/ })),
    "SMTP server for the product's own emails; a login requires TLS, except on loopback",
    'no emails; a local mail server by `npm start`',
  ),
  SMTP_CA_FILE: forBoth(
    optional(z.string()),
    'PEM file of the certificate authority of mail servers, of `SMTP_URL` and of email lines',
    'a public CA',
  ),
  SMTP_EHLO_NAME: forBoth(
    optional(z.string().regex(/^[\w-]+(\.[\w-]+)+$/, 'must be a full host name')),
    'the host name with which email lines greet their mail servers',
    "this machine's host name",
  ),
  MAIL_FROM: forBoth(
    z.string().default('Linepace <no-reply@linepace.example>'),
    'the sender of these emails; required with `SMTP_URL` in production',
  ),
  TELEGRAM_BOT_TOKEN: forBoth(
    optional(z.string().regex(/^\d+:[\w-]{20,}$/, 'must be as BotFather gives it, 123456:ABC…')),
    "the token of a bot in whose [chats](ai-drafts.md#in-a-chat) members decide about drafts. The bot's webhook becomes `PUBLIC_URL/callbacks/chats/telegram`, so one installation uses it",
    'no chats of Telegram',
  ),
  TELEGRAM_UPDATES: forBoth(
    optional(z.enum(['webhook', 'polling'])),
    'how Telegram tells what happens: it calls `PUBLIC_URL`, or the API asks, which takes a single API process',
    '`polling` if `PUBLIC_URL` is not `https`',
  ),
  TELEGRAM_API_URL: forBoth(optional(HttpUrl), 'another server with the Bot API', "Telegram's"),
  TELEGRAM_CA_FILE: forBoth(optional(z.string()), "PEM file of that server's CA", 'a public CA'),
  SLACK_BOT_TOKEN: forBoth(
    optional(z.string().regex(/^xoxb-/, 'must begin with xoxb-')),
    'the bot token of a Slack app made from `deploy/slack-manifest.json`, in whose [chats](ai-drafts.md#in-a-chat) members decide about drafts',
    'no chats of Slack',
  ),
  SLACK_SIGNING_SECRET: forBoth(
    optional(z.string()),
    "the app's signing secret; required with `SLACK_BOT_TOKEN`",
  ),
  SLACK_API_URL: forBoth(optional(HttpUrl), 'another server with the Web API', "Slack's"),
  SLACK_CA_FILE: forBoth(optional(z.string()), "PEM file of that server's CA", 'a public CA'),
  HUBSPOT_API_URL: forBoth(optional(HttpUrl), 'another server with the API of HubSpot', "HubSpot's"),
  HUBSPOT_CA_FILE: forBoth(optional(z.string()), "PEM file of that server's CA", 'a public CA'),
  HIGHLEVEL_CLIENT_ID: forBoth(
    optional(z.string()),
    'the client id of a marketplace app of HighLevel, which members add to their [locations](crms.md#highlevel)',
    'only private integration tokens',
  ),
  HIGHLEVEL_CLIENT_SECRET: forBoth(optional(z.string()), "the app's secret; required with the id"),
  HIGHLEVEL_SMS_PROVIDER_ID: forBoth(
    optional(z.string()),
    "the id of the app's conversation provider of type SMS: what people send with it in HighLevel is sent by lines",
    'none',
  ),
  HIGHLEVEL_CALL_PROVIDER_ID: forBoth(
    optional(z.string()),
    "the id of the app's conversation provider of type Call, in which calls are logged",
    'calls are logged as notes',
  ),
  HIGHLEVEL_WEBHOOK_KEY: forBoth(
    optional(z.string().regex(/^-----BEGIN PUBLIC KEY-----/, 'must be a public key as PEM')),
    'the Ed25519 key, as PEM, with which HighLevel signs its requests, if it has changed',
    "HighLevel's",
  ),
  HIGHLEVEL_API_URL: forBoth(optional(HttpUrl), 'another server with the API of HighLevel', "HighLevel's"),
  HIGHLEVEL_CA_FILE: forBoth(optional(z.string()), "PEM file of that server's CA", 'a public CA'),
  CRM_POLL_SECONDS: forWorkers(
    z.coerce.number().min(0.1).max(3600).default(20),
    'interval at which connected CRMs are asked for changes and told what has happened',
  ),
  INBOX_POLL_SECONDS: forWorkers(
    z.coerce.number().min(1).max(3600).default(20),
    'interval at which the mailboxes of email lines are read: soon enough that a mailbox that refuses us is told of within a minute',
  ),
};

const FILES = {
  DATA_DIR: documented(
    'API',
    'workers',
    '`npm start`',
  )(z.string().default('.data'), 'folder for attachments without a bucket, and for the data of `npm start`'),
  S3_BUCKET: forBoth(optional(z.string()), 'S3-compatible bucket for attachments', 'files under `DATA_DIR`'),
  S3_REGION: forBoth(z.string().default('us-east-1'), 'the region of the bucket'),
  S3_ENDPOINT: forBoth(optional(HttpUrl), 'URL of another S3-compatible service', "Amazon's"),
  S3_CA_FILE: forBoth(optional(z.string()), "PEM file of the service's CA", 'a public CA'),
  S3_ACCESS_KEY_ID: forBoth(optional(z.string()), 'required with `S3_BUCKET`'),
  S3_SECRET_ACCESS_KEY: forBoth(optional(z.string()), 'required with `S3_BUCKET`'),
  FFMPEG_PATH: forWorkers(
    optional(z.string()),
    'path of an ffmpeg with `libopus`, for voice notes. A native one is about three times as fast as the WebAssembly build, [which is GPL](dependencies.md)',
    'the `ffmpeg` on the `PATH`, otherwise WebAssembly',
  ),
  STORAGE_QUOTA_GB: forBoth(
    z.coerce.number().positive().default(20),
    'storage limit per workspace; the limit per day (UTC) is a tenth of it. Above the limit, uploads are rejected with `413 STORAGE_QUOTA_EXCEEDED`. Files from contacts have as much again a day, a quarter of it for each contact; what exceeds that is fetched on the next day',
  ),
  RETENTION_DAYS: forWorkers(
    RetentionDays.default(DEFAULT_RETENTION),
    'retention periods in days, by kind of record: `attempts=90,mails=7`. [Kinds and defaults](privacy.md#how-long-records-are-kept)',
    '`events=30,attempts=400,…`',
  ),
};

const WORKERS = {
  WORKER_QUEUES: forWorkers(
    optional(Names),
    'comma-separated task queues of a worker process: `main`, `webhooks`, `model`, `media`, `mail`, `payments`, `housekeeping`, and one per carrier, such as `carrier-smtp`, and `carrier-test` for [test mode](test-mode.md). Every queue needs at least one process',
    'all',
  ),
  WORKER_SLOTS: forWorkers(
    Slots.default({}),
    'concurrent activities of a process by queue: `model=400,carrier-smtp=50`',
    '`main` 100, `webhooks` and `model` 200, carriers 400, others 20',
  ),
  WORKER_BUILD_ID: forWorkers(
    optional(z.string().min(1).max(100)),
    'version of the worker in the Temporal deployment `linepace`. Workflows continue on the current version (`temporal worker deployment set-current-version`)',
    'workers are not versioned',
  ),
  WORKER_AUTO_RELEASE: forWorkers(
    Flag.default(false),
    '`1`: a worker of a build that never got tasks releases it, as `npm run ops -- release` does. For rollouts that wait until their processes are ready',
    'somebody releases each build',
  ),
  MAX_CACHED_WORKFLOWS: forWorkers(
    z.coerce.number().int().min(10).default(600),
    'workflows that a worker process keeps in memory',
  ),
};

const OBSERVABILITY = {
  LOG_LEVEL: forBoth(
    z.enum(['trace', 'debug', 'info', 'warn', 'error', 'silent']).default('info'),
    'the minimum severity of log lines: `trace`, `debug`, `info`, `warn`, `error` or `silent`',
  ),
  METRICS_PORT: forBoth(
    optional(Port),
    "separate port for the API's `/metrics`, which production serves nowhere else, and for a worker's `/healthz`, `/readyz` and `/metrics` ([observability](observability.md)); with `npm start`, the worker has the next port",
  ),
  OTEL_EXPORTER_OTLP_ENDPOINT: forBoth(
    optional(HttpUrl),
    'URL for traces (OTLP over HTTP). [What traces show](observability.md#traces)',
    'no traces',
  ),
  // The exporter reads it by itself.
  OTEL_EXPORTER_OTLP_HEADERS: forBoth(optional(z.string()), 'headers of these requests: `name=value,…`'),
  OTEL_TRACES_SAMPLER_ARG: forBoth(
    z.coerce.number().min(0).max(1).default(1),
    'the share of traces to record, `0` to `1`',
  ),
};

const LOCAL = {
  AUTH_LOCAL_JWK: forApi(
    optional(z.string()),
    'private key of the local issuer, without an identity provider',
    'generated by `npm start`',
  ),
  WEBHOOK_ALLOW_PRIVATE: forBoth(
    Flag.default(false),
    'allow loopback addresses for webhooks',
    '`0`; `1` by `npm start`',
  ),
  SIMULATOR_URL: forBoth(
    optional(HttpUrl),
    'URL of the simulated carriers, payments and model',
    'set by `npm start`',
  ),
  SIMULATOR_SECRET: forBoth(
    optional(z.string()),
    'the secret of the simulator; required with `SIMULATOR_URL`',
    'set by `npm start`',
  ),
};

export interface Subject {
  title: string;
  introduction?: string;
  variables: Record<string, z.ZodType>;
}

/** In the order of docs/configuration.md. */
export const SUBJECTS: readonly Subject[] = [
  { title: 'Mode', variables: MODE },
  {
    title: 'PostgreSQL',
    introduction:
      "All database URLs take `?sslmode=verify-full` for TLS, with `&sslrootcert=/path/to/ca.pem` if the server's CA is not a public one.",
    variables: { ...DATABASE_LOGINS, ...DATABASE_OWNER, ...DATABASE },
  },
  { title: 'Temporal', variables: { ...TEMPORAL_SERVER, ...TEMPORAL_CODEC, ...OPERATORS } },
  { title: 'Address', variables: ADDRESS },
  { title: 'Keys', variables: KEYS },
  { title: 'Sessions and signing in', variables: SIGN_IN },
  { title: 'Providers', variables: PROVIDERS },
  { title: 'Files and records', variables: FILES },
  { title: 'Workers', variables: WORKERS },
  { title: 'Logs, metrics, traces', variables: OBSERVABILITY },
  {
    title: 'Local installation',
    introduction: 'Not for production, which refuses or ignores these variables.',
    variables: LOCAL,
  },
];

/** The variables of the API and the workers. */
export const Environment = z.object({
  ...MODE,
  ...DATABASE_LOGINS,
  ...DATABASE,
  ...TEMPORAL_SERVER,
  ...TEMPORAL_CODEC,
  ...OPERATORS,
  ...ADDRESS,
  ...KEYS,
  ...SIGN_IN,
  ...PROVIDERS,
  ...FILES,
  ...WORKERS,
  ...OBSERVABILITY,
  ...LOCAL,
  PATH: z.string().default(''),
});

export const MigrationEnvironment = z.object({ ...DATABASE_LOGINS, ...DATABASE_OWNER });
export const TemporalEnvironment = z.object(TEMPORAL_SERVER);
export const OperatorsEnvironment = TemporalEnvironment.extend({
  ...MODE,
  ...DATABASE_LOGINS,
  PORT: ADDRESS.PORT,
  PUBLIC_URL: ADDRESS.PUBLIC_URL,
  AUTH_JWKS_URL: SIGN_IN.AUTH_JWKS_URL,
  AUTH_CLIENT_ID: SIGN_IN.AUTH_CLIENT_ID,
  STRIPE_SECRET_KEY: PROVIDERS.STRIPE_SECRET_KEY,
  TEMPORAL_UI_ORIGIN: TEMPORAL_CODEC.TEMPORAL_UI_ORIGIN,
});
