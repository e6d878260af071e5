import type { IDisplayOptions, INodeProperties } from 'n8n-workflow';

/** The display options of a field of some operations. */
export const shownFor = (resource: string, ...operations: string[]): IDisplayOptions => ({
  show: { resource: [resource], ...(operations.length > 0 && { operation: operations }) },
});

/** A required id that the path of the request contains. */
export const idField = (
  name: string,
  displayName: string,
  displayOptions: IDisplayOptions,
): INodeProperties => ({
  displayName,
  name,
  type: 'string',
  default: '',
  required: true,
  displayOptions,
});

/**
 * A repeated request with the same key has one effect. The run of a node for an item is repeated by n8n with the same key, so that
 * "Retry on Fail" sends nothing twice.
 */
export const IDEMPOTENT = {
  'Idempotency-Key': '=n8n-{{$execution.id}}-{{$nodeId}}-{{$runIndex}}-{{$itemIndex}}',
};

/** Texts separated by commas, as an array. */
export const LIST_OF_TEXTS = '={{$value.split(",").map((text) => text.trim()).filter((text) => text)}}';

/** The fields of a contact in a body. @param path where they are in the body, with a dot at the end, or "" */
export const contactFields = (path: string): INodeProperties[] =>
  (
    [
      ['Company Name', 'companyName'],
      ['Contact Owner Email', 'contactOwnerEmail'],
      ['Email', 'email'],
      ['First Name', 'firstName'],
      ['Job Title', 'jobTitle'],
      ['Last Name', 'lastName'],
      ['Notes', 'notes'],
      ['Phone', 'phone'],
      ['Time Zone', 'timezone'],
    ] as const
  ).map(([displayName, name]) => ({
    displayName,
    name,
    type: 'string',
    default: '',
    ...(name === 'email' && { placeholder: 'name@email.com' }),
    routing: { send: { type: 'body', property: `${path}${name}` } },
  }));

/** Fields of the customer's own in a body. */
export const customFields = (path: string): INodeProperties => ({
  displayName: 'Custom Fields (JSON)',
  name: 'customFields',
  type: 'json',
  default: '{}',
  description: 'Names and texts, such as { "plan": "gold" }',
  routing: {
    send: {
      type: 'body',
      property: `${path}customFields`,
      value: '={{typeof $value === "string" ? JSON.parse($value) : $value}}',
    },
  },
});
