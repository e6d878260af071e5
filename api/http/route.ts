import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import type { Context as KoaContext } from 'koa';
import { z } from 'zod';
import type { SystemTransaction, TenantDb } from '#db/pool.ts';
import type { AgencyCaller, WorkspaceCaller } from '#domain/caller.ts';
import type { Services } from '../services.ts';
import type { ErrorCode } from './errors.ts';

/** Requests allowed per workspace (or agency) and endpoint; shared by all API processes. */
export interface RateLimit {
  requests: number;
  seconds: number;
}
export const perMinute = (requests: number): RateLimit => ({ requests, seconds: 60 });

type Schema = z.ZodType;
type Parsed<S extends Schema | undefined> = S extends Schema ? z.output<S> : undefined;

/** What a route is, told once: the middleware, the OpenAPI document and the conformance tests are made from it. */
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
  /** Of those who are signed in, only admins may; a key acts for the whole workspace. */
  adminsOnly?: boolean;
  /** Stays open when the workspace is read-only. Reads always do. */
  openWhenReadOnly?: boolean;
  /** A `POST` that creates takes an `Idempotency-Key`. */
  idempotent?: boolean;
  /** A read that may take long: it uses connections that other requests do not wait for. */
  heavy?: boolean;
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
}

/** What waits for something else than the database, such as a name server: it runs before the transaction. */
type Check<P extends Schema | undefined, Q extends Schema | undefined, B extends Schema | undefined, C> = (
  context: RequestContext<Parsed<P>, Parsed<Q>, Parsed<B>> & { caller: C },
) => Promise<void>;

/** An endpoint of one workspace: its handler runs in one transaction of that workspace. */
export interface WorkspaceRoute<
  P extends Schema | undefined = undefined,
  Q extends Schema | undefined = undefined,
  B extends Schema | undefined = undefined,
  R extends Responses = Responses,
  A = Reply<R>,
> extends Declaration<P, Q, B, R> {
  access: 'workspace' | 'workspace-admin-session';
  check?: Check<P, Q, B, WorkspaceCaller>;
  handler(
    context: RequestContext<Parsed<P>, Parsed<Q>, Parsed<B>> & { caller: WorkspaceCaller; db: TenantDb },
  ): Promise<A>;
}

/**
 * An endpoint of one workspace whose handler opens transactions as it needs them (`withTenant`): because requests
 * share one commit, or because it waits for another party, and no transaction is to be held open meanwhile.
 */
export interface UntransactedRoute<
  P extends Schema | undefined = undefined,
  Q extends Schema | undefined = undefined,
  B extends Schema | undefined = undefined,
  R extends Responses = Responses,
  A = Reply<R>,
> extends Declaration<P, Q, B, R> {
  access: 'workspace-untransacted';
  handler(context: RequestContext<Parsed<P>, Parsed<Q>, Parsed<B>> & { caller: WorkspaceCaller }): Promise<A>;
}

export interface AgencyRoute<
  P extends Schema | undefined = undefined,
  Q extends Schema | undefined = undefined,
  B extends Schema | undefined = undefined,
  R extends Responses = Responses,
  A = Reply<R>,
> extends Declaration<P, Q, B, R> {
  access: 'agency' | 'agency-owner-session';
  check?: Check<P, Q, B, AgencyCaller>;
  handler(
    context: RequestContext<Parsed<P>, Parsed<Q>, Parsed<B>> & {
      caller: AgencyCaller;
      db: SystemTransaction;
    },
  ): Promise<A>;
}

/** As `UntransactedRoute`, for an agency. */
export interface AgencyUntransactedRoute<
  B extends Schema | undefined = undefined,
  R extends Responses = Responses,
  A = Reply<R>,
> extends Declaration<undefined, undefined, B, R> {
  access: 'agency-untransacted' | 'agency-untransacted-owner-session';
  handler(context: RequestContext<undefined, undefined, Parsed<B>> & { caller: AgencyCaller }): Promise<A>;
}

/** No credential: health, documents, callbacks (which verify a signature) and the proxy to the simulators. */
export interface PublicRoute {
  access: 'public';
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
type AnyWorkspaceRoute = WorkspaceRoute<any, any, any, any, any>;
// oxlint-disable-next-line no-explicit-any
type AnyUntransactedRoute = UntransactedRoute<any, any, any, any, any>;
// oxlint-disable-next-line no-explicit-any
type AnyAgencyRoute = AgencyRoute<any, any, any, any, any> | AgencyUntransactedRoute<any, any, any>;
export type TenantRoute = AnyWorkspaceRoute | AnyUntransactedRoute | AnyAgencyRoute;
export type Route = TenantRoute | PublicRoute;

export function workspaceRoute<
  R extends Responses,
  P extends Schema | undefined = undefined,
  Q extends Schema | undefined = undefined,
  B extends Schema | undefined = undefined,
  const A extends Reply<R> = Reply<R>,
>(
  route: Omit<WorkspaceRoute<P, Q, B, R, A>, 'access'> & { access?: 'workspace-admin-session' },
): WorkspaceRoute<P, Q, B, R, A> {
  return { access: 'workspace', ...route };
}

export function untransactedRoute<
  R extends Responses,
  P extends Schema | undefined = undefined,
  Q extends Schema | undefined = undefined,
  B extends Schema | undefined = undefined,
  const A extends Reply<R> = Reply<R>,
>(route: Omit<UntransactedRoute<P, Q, B, R, A>, 'access'>): UntransactedRoute<P, Q, B, R, A> {
  return { access: 'workspace-untransacted', ...route };
}

export function agencyRoute<
  R extends Responses,
  P extends Schema | undefined = undefined,
  Q extends Schema | undefined = undefined,
  B extends Schema | undefined = undefined,
  const A extends Reply<R> = Reply<R>,
>(
  route: Omit<AgencyRoute<P, Q, B, R, A>, 'access'> & { access?: 'agency-owner-session' },
): AgencyRoute<P, Q, B, R, A> {
  return { access: 'agency', ...route };
}

export function agencyUntransactedRoute<
  R extends Responses,
  B extends Schema | undefined = undefined,
  const A extends Reply<R> = Reply<R>,
>(
  route: Omit<AgencyUntransactedRoute<B, R, A>, 'access'> & { access?: 'agency-untransacted-owner-session' },
): AgencyUntransactedRoute<B, R, A> {
  return { access: 'agency-untransacted', ...route };
}

export const publicRoute = (route: Omit<PublicRoute, 'access'>): PublicRoute => ({
  access: 'public',
  ...route,
});
