import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * For `/docs` and its assets: connections to this server only. Swagger UI requires `data:` images, but neither inline
 * scripts nor inline styles.
 */
export const DOCS_CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const swaggerUi = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));
const own = dirname(fileURLToPath(import.meta.url));

const ASSETS = new Map([
  ['swagger-ui.css', { path: join(swaggerUi, 'swagger-ui.css'), contentType: 'text/css; charset=utf-8' }],
  [
    'swagger-ui-bundle.js',
    { path: join(swaggerUi, 'swagger-ui-bundle.js'), contentType: 'text/javascript; charset=utf-8' },
  ],
  ['favicon-32x32.png', { path: join(swaggerUi, 'favicon-32x32.png'), contentType: 'image/png' }],
  ['docs.css', { path: join(own, 'docs.css'), contentType: 'text/css; charset=utf-8' }],
  [
    'code-samples-plugin.js',
    { path: join(own, 'code-samples-plugin.js'), contentType: 'text/javascript; charset=utf-8' },
  ],
  ['docs.js', { path: join(own, 'docs.js'), contentType: 'text/javascript; charset=utf-8' }],
]);

/**
 * The file for `/docs/assets/{name}`. Only the files listed above are served, so a name cannot traverse directories.
 */
export function docsAsset(name: string): { path: string; contentType: string } | null {
  return ASSETS.get(name) ?? null;
}

/** The API reference page, `GET /docs`: Swagger UI over `/openapi.json`. */
export function docsPage(): string {
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Linepace API reference</title>
    <link rel="icon" type="image/png" href="/docs/assets/favicon-32x32.png">
    <link rel="stylesheet" href="/docs/assets/swagger-ui.css">
    <link rel="stylesheet" href="/docs/assets/docs.css">
  </head>
  <body>
    <main id="reference">
      <noscript>This page needs JavaScript. The document it shows is <a href="/openapi.json">/openapi.json</a>.</noscript>
    </main>
    <script src="/docs/assets/swagger-ui-bundle.js"></script>
    <script type="module" src="/docs/assets/docs.js"></script>
  </body>
</html>
`;
}
