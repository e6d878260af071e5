import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import type { Context as KoaContext } from 'koa';
import { z } from 'zod';
import type { SystemTransaction, TenantDb } from '#db/connection/transactions.ts';
import type { WorkspaceLimit } from '#domain/accounts/limits.ts';
import type { AgencyCaller, WorkspaceCaller } from '#domain/accounts/caller.ts';
import type { KeyScope } from '#domain/accounts/key-scope.ts';
import type { Mode } from '#domain/test-mode/test-mode.ts';
import type { Services } from '../services.ts';
import type { Audit, RecordAudit } from './audit.ts';
import type { OwnRequest, OwnResponse } from './dispatch.ts';
import type { ErrorCode } from './errors.ts';
import type { INTAKE, RateLimit } from './rate-limits.ts';

type Schema = z.ZodType;
type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
type Parsed<S extends Schema | undefined> = S extends Schema ? z.output<S> : undefined;

/** A route as data. The middleware, the OpenAPI document and the conformance tests derive from it. */
interface Declaration<
  P extends Schema | undefined,
  Q extends Schema | undefined,
  B extends Schema | undefined,
  R extends Responses,
  M extends Method = Method,
  U extends string = string,
> {
  /** The operation id in the OpenAPI document, metrics and logs. */
  id: string;
  method: M;
  /** In OpenAPI syntax: `/api/messages/{id}`. */
  path: U;
  tag: string;
  summary: string;
  description?: string;
  params?: P;
  query?: Q;
  body?: B;
  /** Request headers that the handler reads with `header`, for the OpenAPI document. */
  headers?: z.ZodObject;
  responses: R;
  /** In addition to the errors that `errorCodes` derives from the other fields. */
  errors?: readonly ErrorCode[];
  /** Default: 120 per minute; null: none; `INTAKE`: the backstop of bulk intake, weighted by size. */
  limit?: RateLimit | typeof INTAKE | null;
  /** The maximum number of values in a body, if it may have more than `MAX_VALUES`. */
  maxValues?: number;
  /** Allowed while the workspace is read-only. Reads always are. */
  openWhenReadOnly?: boolean;
  /** Sends or uploads, which is refused for a workspace without a subscription. */
  needsSubscription?: boolean;
  /** Adds an object of this kind, whose number is limited per workspace. */
  adds?: Exclude<WorkspaceLimit, 'eventStreams'>;
  /** `test`: accepts only credentials of test mode; `live`: only live credentials. Default: both. */
  mode?: Mode;
  /** Accepts an `Idempotency-Key`. */
  idempotent?: boolean;
  /** A slow read, which runs on a separate connection pool; or which of its queries are. */
  heavy?: boolean | ((query: Parsed<Q>) => boolean);
  /** What the audit log records, in the transaction of the change. */
  audit?: Audit<Parsed<P>, Parsed<B>, z.input<R[keyof R & number]>>;
  /** The field of the body that may be sent alone, as `text/csv`. */
  csvField?: string;
  /** The media types of a body that the handler reads from `raw` as a stream. */
  consumes?: readonly string[];
  /** The media type of a response other than JSON, for example a stream (`ResponseStream`). */
  produces?: string;
  /** Another media type in which the handler may respond, named in its `Content-Type`. */
  alsoProduces?: string;
  /** The schema of a streamed JSON response, for the OpenAPI document. */
  streams?: Schema;
}

/** The response of any handler, without the types of its route. */
export interface HandlerResult {
  status: number;
  body: unknown;
  headers?: Record<string, string>;
}

/** The schema of a streamed response. */
export const ResponseStream = z.instanceof(Readable);

export type Responses = Record<number, Schema>;
export type Reply<R extends Responses> = {
  [S in keyof R]: { status: S; body: z.input<R[S]>; headers?: Record<string, string> };
}[keyof R];

export interface RequestContext<P, Q, B> extends Services {
  params: P;
  query: Q;
  body: B;
  now: Date;
  header(name: string): string;
  /** Authenticates the request again, for a long-lived response. @throws if it would be refused now. */
  authenticate(): Promise<unknown>;
  /** Handles another request of the same caller. */
  dispatch(request: OwnRequest): Promise<OwnResponse>;
  /** The request, for a body that is read as a stream. */
  raw: IncomingMessage;
  /** Records the changes, if `audit.targets` is `handler`. */
  audit: RecordAudit;
}

/** The caller of an endpoint and the transaction of its handler. */
interface Kinds {
  workspace: { caller: WorkspaceCaller; db: TenantDb };
  agency: { caller: AgencyCaller; db: SystemTransaction };
}
type Kind = keyof Kinds;

/** An endpoint of a workspace or an agency. */
export interface TenantRouteOf<
  K extends Kind,
  P extends Schema | undefined = undefined,
  Q extends Schema | undefined = undefined,
  B extends Schema | undefined = undefined,
  R extends Responses = Responses,
  A = Reply<R>,
  T extends boolean = true,
  M extends Method = Method,
  U extends string = string,
> extends Declaration<P, Q, B, R, M, U> {
  caller: K;
  /** `session`: API keys are refused. Default: a key or a session. */
  credential?: 'session';
  /** The scope that a workspace key needs, or a list of alternatives. Default: `scopesOf` derives it. */
  scope?: KeyScope | readonly KeyScope[];
  /** The required role of a signed-in user; keys act for the whole workspace or agency. */
  role?: K extends 'workspace' ? 'admin' : 'owner';
  /** A signed-in user of an agency may select one of its workspaces with the query parameter `workspaceId`. */
  ofClients?: boolean;
  /**
   * false: the handler opens its own transactions, because it waits for something other than the database (no
   * transaction may be open meanwhile) or shares a commit with other requests. Default: it runs in one transaction.
   */
  transaction?: T;
  /** Runs before the transaction, for checks that wait for something other than the database, such as DNS. */
  check?(context: RequestContext<Parsed<P>, Parsed<Q>, Parsed<B>> & Pick<Kinds[K], 'caller'>): Promise<void>;
  handler(
    context: RequestContext<Parsed<P>, Parsed<Q>, Parsed<B>> &
      (T extends false ? Pick<Kinds[K], 'caller'> : Kinds[K]),
  ): Promise<A>;
}

/** An endpoint without a credential: health, documentation, callbacks (which verify a signature), signed links. */
export interface PublicRoute {
  caller: 'anyone';
  id: string;
  method: Method | 'OPTIONS';
  path: string;
  tag: string;
  summary: string;
  description?: string;
  query?: z.ZodObject;
  /** The schema of a JSON body, which `respond` reads and validates. */
  body?: z.ZodType;
  /** The media type by status, apart from `errors`; null: no body. */
  contentTypes: Record<number, string | null>;
  /** The schemas of JSON responses, by status. */
  schemas?: Record<number, z.ZodType>;
  /** In addition to the errors of every public route. */
  errors?: readonly ErrorCode[];
  /** Excluded from the OpenAPI document. */
  hidden?: boolean;
  respond(context: KoaContext, services: Services): Promise<void>;
}

// The list of routes contains routes with different schemas, so their types are erased there.
// oxlint-disable-next-line no-explicit-any
type AnyRouteOf<K extends Kind> = TenantRouteOf<K, any, any, any, any, any, any>;
export type TenantRoute = AnyRouteOf<'workspace'> | AnyRouteOf<'agency'>;
export type Route = TenantRoute | PublicRoute;

const routeOf =
  <K extends Kind>(caller: K) =>
  <
    R extends Responses,
    P extends Schema | undefined = undefined,
    Q extends Schema | undefined = undefined,
    B extends Schema | undefined = undefined,
    const A extends Reply<R> = Reply<R>,
    const T extends boolean = true,
    // Literal types, by which the console's client finds a route (console/api/routes.ts).
    const M extends Method = Method,
    const U extends string = string,
  >(
    route: Omit<TenantRouteOf<K, P, Q, B, R, A, T, M, U>, 'caller'>,
  ): TenantRouteOf<K, P, Q, B, R, A, T, M, U> => ({ caller, ...route });

export const workspaceRoute = routeOf('workspace');
export const agencyRoute = routeOf('agency');
export const publicRoute = (route: Omit<PublicRoute, 'caller'>): PublicRoute => ({
  caller: 'anyone',
  ...route,
});
