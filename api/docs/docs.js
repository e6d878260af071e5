import { codeSamplesPlugin } from './code-samples-plugin.js';

/** Swagger UI does not follow the references of webhooks. */
const webhooksPlugin = {
  statePlugins: {
    spec: {
      wrapActions: {
        updateJsonSpec: (original) => (document) =>
          original({ ...document, webhooks: document.components?.pathItems ?? document.webhooks }),
      },
    },
  },
};

// Not inline, because the page's Content-Security-Policy does not allow inline scripts.
SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#reference',
  deepLinking: true,
  docExpansion: 'list',
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  filter: true,
  // Do not send the document to Swagger's public validator.
  validatorUrl: null,
  // Do not let the query string select another document.
  queryConfigEnabled: false,
  plugins: [codeSamplesPlugin, webhooksPlugin],
});
