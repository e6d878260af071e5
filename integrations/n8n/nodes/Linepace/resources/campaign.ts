import type { INodeProperties } from 'n8n-workflow';
import { contactFields, customFields, IDEMPOTENT, idField, shownFor } from './fields';

const addLead = shownFor('campaign', 'addLead');

export const campaignDescription: INodeProperties[] = [
  {
    displayName: 'Operation',
    name: 'operation',
    type: 'options',
    noDataExpression: true,
    displayOptions: shownFor('campaign'),
    options: [
      {
        name: 'Add Lead',
        value: 'addLead',
        action: 'Add a lead to a campaign',
        description: 'Start the sequence of a campaign for a lead; a contact gets it once',
        routing: {
          request: {
            method: 'POST',
            url: '=/api/campaigns/{{$parameter.campaignId}}/leads',
            headers: IDEMPOTENT,
          },
        },
      },
      {
        name: 'Get',
        value: 'get',
        action: 'Get a campaign',
        routing: { request: { method: 'GET', url: '=/api/campaigns/{{$parameter.campaignId}}' } },
      },
      {
        name: 'Pause',
        value: 'pause',
        action: 'Pause a campaign',
        routing: { request: { method: 'POST', url: '=/api/campaigns/{{$parameter.campaignId}}/pause' } },
      },
      {
        name: 'Resume',
        value: 'resume',
        action: 'Resume a campaign',
        routing: { request: { method: 'POST', url: '=/api/campaigns/{{$parameter.campaignId}}/resume' } },
      },
    ],
    default: 'addLead',
  },
  idField('campaignId', 'Campaign ID', shownFor('campaign')),
  {
    displayName: 'Lead',
    name: 'leadBy',
    type: 'options',
    displayOptions: addLead,
    options: [
      { name: 'By ID', value: 'id' },
      { name: 'From Fields', value: 'fields' },
    ],
    default: 'id',
  },
  {
    displayName: 'Lead ID',
    name: 'leadId',
    type: 'string',
    default: '',
    required: true,
    displayOptions: { show: { ...addLead.show, leadBy: ['id'] } },
    routing: { send: { type: 'body', property: 'leadId' } },
  },
  {
    displayName: 'Fields',
    name: 'lead',
    type: 'collection',
    placeholder: 'Add Field',
    default: {},
    displayOptions: { show: { ...addLead.show, leadBy: ['fields'] } },
    description: 'An email or a phone is required; an existing lead with the same one is used',
    options: [...contactFields('lead.'), customFields('lead.')],
  },
];
