import type { z } from 'zod';
import type { DeclaredRoute } from '#api/routes.ts';

/*
 * The request and response types of the API, from the declarations of its routes. Only types are imported, so the bundle
 * contains no code of the API.
 */

/** Without those that anybody may call. */
type CalledRoute = Extract<DeclaredRoute, { responses: unknown }>;

type Input<S> = [S] extends [z.ZodType] ? z.input<S> : undefined;
type Field<R, K extends string> = R extends { [N in K]?: infer S } ? Input<Exclude<S, undefined>> : undefined;

/** Omits parts that the route does not accept. Parts whose fields all have defaults are optional. */
type Part<K extends string, V> = [V] extends [undefined]
  ? { [N in K]?: undefined }
  : object extends V
    ? { [N in K]?: V }
    : { [N in K]: V };

type Successful<R> = R extends { responses: infer A } ? A[keyof A] : never;
type Output<S> = S extends z.ZodType ? z.output<S> : never;

/** All endpoints by method and path: `GET /api/messages/{id}`. */
type Routes = {
  [R in CalledRoute as `${R['method']} ${R['path']}`]: {
    request: Part<'params', Field<R, 'params'>> &
      Part<'query', Field<R, 'query'>> &
      Part<'body', Field<R, 'body'>>;
    response: Output<Successful<R>>;
  };
};

/** The method and path of an endpoint, as the reference names it: `POST /api/inbox/send-reply`. */
export type Endpoint = keyof Routes;
export type ReadEndpoint = Extract<Endpoint, `GET ${string}`>;
export type WriteEndpoint = Exclude<Endpoint, ReadEndpoint>;
/** The endpoints whose responses come in pages. */
export type PagedEndpoint = {
  [E in ReadEndpoint]: Routes[E]['response'] extends { nextCursor: string | null } ? E : never;
}[ReadEndpoint];

/** The parameters of the path, the query and the body of a request, as the route's schemas accept them. */
export type RequestTo<E extends Endpoint> = Routes[E]['request'];
/** The body of a successful response. */
export type ResponseOf<E extends Endpoint> = Routes[E]['response'];
