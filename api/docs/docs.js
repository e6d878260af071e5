// A file of its own because the page's Content-Security-Policy allows no inline script.
SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#reference',
  deepLinking: true,
  docExpansion: 'list',
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  filter: true,
  // Swagger's public validator would be sent the document.
  validatorUrl: null,
  // The page's own address may not choose another document.
  queryConfigEnabled: false,
});
