/** The account of the simulated Twilio server in tests. */
export const TWILIO_ACCOUNT = {
  sid: 'AC00000000000000000000000000000001',
  authToken: 'the-token-of-the-account',
};
