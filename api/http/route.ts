import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import type { Context as KoaContext } from 'koa';
import { z } from 'zod';
import type { SystemTransaction, TenantDb } from '#db/transactions.ts';
import type { AgencyCaller, WorkspaceCaller } from '#domain/caller.ts';
import type { Services } from '../services.ts';
import type { Audit, RecordAudit } from './audit.ts';
import type { ErrorCode } from './errors.ts';

/** Requests allowed per workspace (or agency) and endpoint; shared by all API processes. */
export interface RateLimit {
  requests: number;
  seconds: number;
}
export const perMinute = (requests: number): RateLimit => ({ requests, seconds: 60 });

type Schema = z.ZodType;
type Parsed<S extends Schema | undefined> = S extends Schema ? z.output<S> : undefined;

/** A route as data: the middleware, the OpenAPI document and the conformance tests are derived from it. */
interface Declaration<
  P extends Schema | undefined,
  Q extends Schema | undefined,
  B extends Schema | undefined,
  R extends Responses,
> {
  /** The operation's name in the OpenAPI document, the metrics and the logs. */
  id: string;
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** In OpenAPI's form: `/api/messages/{id}`. */
  path: string;
  tag: string;
  summary: string;
  description?: string;
  params?: P;
  query?: Q;
  body?: B;
  responses: R;
  /** Beyond those every route of its kind can answer with. */
  errors?: readonly ErrorCode[];
  /** Default: 120 per minute; null: none. */
  limit?: RateLimit | null;
  /** Stays open when the workspace is read-only. Reads always do. */
  openWhenReadOnly?: boolean;
  /** A `POST` that creates takes an `Idempotency-Key`. */
  idempotent?: boolean;
  /** A read that may take long: it uses connections that other requests do not wait for. */
  heavy?: boolean;
  /** What the audit log records of it, in the transaction that changes something. */
  audit?: Audit<Parsed<P>, Parsed<B>, z.input<R[keyof R & number]>>;
  /** The media types of a body that the handler reads from `raw` itself, as a stream. */
  consumes?: readonly string[];
  /** The media type of an answer that is a stream: its schema is `AnswerStream`. */
  produces?: string;
}

/** An answer that is written as it is read. */
export const AnswerStream = z.instanceof(Readable);

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
  /** The request itself, for a body that is read as a stream. */
  raw: IncomingMessage;
  /** Records what changed, where `audit.targets` leaves that to the handler. */
  audit: RecordAudit;
}

/** Who calls an endpoint, and the transaction that its handler runs in. */
interface Kinds {
  workspace: { caller: WorkspaceCaller; db: TenantDb };
  agency: { caller: AgencyCaller; db: SystemTransaction };
}
type Kind = keyof Kinds;

/** An endpoint of one workspace, or of an agency. */
export interface TenantRouteOf<
  K extends Kind,
  P extends Schema | undefined = undefined,
  Q extends Schema | undefined = undefined,
  B extends Schema | undefined = undefined,
  R extends Responses = Responses,
  A = Reply<R>,
  T extends boolean = true,
> extends Declaration<P, Q, B, R> {
  caller: K;
  /** `session`: only somebody who is signed in; keys are refused. Default: a key or a session. */
  credential?: 'session';
  /** What somebody who is signed in must be; a key acts for the whole workspace or agency. */
  role?: K extends 'workspace' ? 'admin' : 'owner';
  /** Somebody who is signed in and belongs to an agency may name one of its workspaces as `workspaceId` of the query. */
  ofClients?: boolean;
  /**
   * false: the handler opens transactions itself, because requests share one commit or because it waits for something
   * other than the database, during which no transaction may stay open. Default: it runs in one transaction.
   */
  transaction?: T;
  /** Waits for something other than the database, such as a name server, before the transaction begins. */
  check?(context: RequestContext<Parsed<P>, Parsed<Q>, Parsed<B>> & Pick<Kinds[K], 'caller'>): Promise<void>;
  handler(
    context: RequestContext<Parsed<P>, Parsed<Q>, Parsed<B>> &
      (T extends false ? Pick<Kinds[K], 'caller'> : Kinds[K]),
  ): Promise<A>;
}

/** No credential: health, documents, callbacks (which verify a signature) and the proxy to the simulators. */
export interface PublicRoute {
  caller: 'anyone';
  id: string;
  method: Declaration<undefined, undefined, undefined, Responses>['method'];
  path: string;
  tag: string;
  summary: string;
  query?: z.ZodObject;
  /** The media type of each status it answers with beside `errors`; null: without a body. */
  answers: Record<number, string | null>;
  /** Beyond those that every public route can answer with. */
  errors?: readonly ErrorCode[];
  /** Kept out of the OpenAPI document. */
  hidden?: boolean;
  respond(context: KoaContext, services: Services): Promise<void>;
}

// The list of routes holds every kind at once; within it a route's own schemas are no longer told apart.
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
  >(
    route: Omit<TenantRouteOf<K, P, Q, B, R, A, T>, 'caller'>,
  ): TenantRouteOf<K, P, Q, B, R, A, T> => ({ caller, ...route });

export const workspaceRoute = routeOf('workspace');
export const agencyRoute = routeOf('agency');
export const publicRoute = (route: Omit<PublicRoute, 'caller'>): PublicRoute => ({
  caller: 'anyone',
  ...route,
});
