import { createReadStream } from 'node:fs';
import { docsAsset, docsPage, DOCS_CONTENT_SECURITY_POLICY } from '#api/docs/docs.ts';
import { openApiDocument } from '#api/http/openapi.ts';
import { ApiError } from '#api/http/errors.ts';
import { publicRoute, type Route } from '#api/http/route.ts';

/** @param routes a function, because these routes are part of the list that they document. */
export function referenceRoutes(routes: () => readonly Route[]): Route[] {
  let document: string | undefined;
  return [
    publicRoute({
      id: 'openapi',
      method: 'GET',
      path: '/openapi.json',
      tag: 'System',
      summary: 'Get the OpenAPI document',
      contentTypes: { 200: 'application/json' },
      async respond(context) {
        document ??= JSON.stringify(openApiDocument(routes()));
        context.type = 'application/json';
        context.body = document;
      },
    }),
    publicRoute({
      id: 'docs',
      method: 'GET',
      path: '/docs',
      tag: 'System',
      summary: 'The API reference page',
      contentTypes: { 200: 'text/html' },
      hidden: true,
      async respond(context) {
        context.set('Content-Security-Policy', DOCS_CONTENT_SECURITY_POLICY);
        context.type = 'text/html';
        context.body = docsPage();
      },
    }),
    publicRoute({
      id: 'docsAsset',
      method: 'GET',
      path: '/docs/assets/{name}',
      tag: 'System',
      summary: 'Assets of the API reference page',
      contentTypes: { 200: 'application/octet-stream' },
      hidden: true,
      async respond(context) {
        const asset = docsAsset(String(context['params'].name));
        if (!asset) throw new ApiError('NOT_FOUND');
        context.type = asset.contentType;
        context.set('Cache-Control', 'public, max-age=86400');
        context.body = createReadStream(asset.path);
      },
    }),
  ];
}
