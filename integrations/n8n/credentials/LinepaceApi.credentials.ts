import type {
  IAuthenticateGeneric,
  Icon,
  ICredentialTestRequest,
  ICredentialType,
  INodeProperties,
} from 'n8n-workflow';

export class LinepaceApi implements ICredentialType {
  name = 'linepaceApi';

  displayName = 'Linepace API';

  icon: Icon = { light: 'file:../icons/linepace.svg', dark: 'file:../icons/linepace.dark.svg' };

  documentationUrl = 'https://www.npmjs.com/package/n8n-nodes-linepace#credentials';

  properties: INodeProperties[] = [
    {
      displayName: 'Base URL',
      name: 'baseUrl',
      type: 'string',
      default: '',
      required: true,
      placeholder: 'https://messages.example.com',
      description: 'The address of your Linepace server',
    },
    {
      displayName: 'API Key',
      name: 'apiKey',
      type: 'string',
      typeOptions: { password: true },
      default: '',
      required: true,
      description:
        'A key of the workspace. Actions need the scope of their resource; the trigger needs the scope Manage.',
    },
  ];

  authenticate: IAuthenticateGeneric = {
    type: 'generic',
    properties: {
      headers: {
        Authorization: '=Bearer {{$credentials.apiKey}}',
      },
    },
  };

  test: ICredentialTestRequest = {
    request: {
      baseURL: '={{$credentials.baseUrl.replace(/\\/+$/, "")}}',
      url: '/api/workspace',
      method: 'GET',
    },
  };
}
