import { Liquid } from 'liquidjs';

/** What a template may name (decisions §4): the lead's stored fields, read when the message is sent. */
export interface TemplateLead {
  firstName: string;
  lastName: string;
  email: string | null;
  phone: string | null;
  companyName: string;
  jobTitle: string;
  notes: string;
  customFields: Record<string, string>;
}

// Templates are written by tenants: no files, no own tags, and bounds on time and memory.
const engine = new Liquid({
  strictVariables: false,
  strictFilters: false,
  ownPropertyOnly: true,
  parseLimit: 100_000,
  renderLimit: 200,
  memoryLimit: 1_000_000,
});

/**
 * Renders Liquid over a lead; an unknown field is empty.
 * @throws when the template cannot be parsed or takes too long.
 */
export function renderTemplate(text: string, lead: TemplateLead | null): string {
  if (!text.includes('{{') && !text.includes('{%')) return text;
  return String(engine.parseAndRenderSync(text, { ...lead }));
}

/** Messages are rendered when they are sent: a contact could otherwise have the model write `{{ notes }}`. */
export function withoutTemplates(text: string): string {
  return text.replaceAll(/\{(?=[{%])/g, '{ ');
}
