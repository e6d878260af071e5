import { InterceptingCall, type Interceptor, Metadata, type NextCall, status } from '@grpc/grpc-js';

/**
 * Ends calls on a closed connection as canceled. gRPC throws there, and when Temporal's client retries a call, it does so in
 * a timer, where nothing catches the error, and the process would end.
 */
export const endAfterClose: Interceptor = (options, nextCall) => {
  try {
    return new InterceptingCall(nextCall(options));
  } catch (error) {
    return new InterceptingCall(canceled(String(error)));
  }
};

const canceled = (details: string): ReturnType<NextCall> => ({
  start(_metadata, listener) {
    // Temporal's client expects both.
    listener?.onReceiveMessage?.(null);
    listener?.onReceiveStatus?.({ code: status.CANCELLED, details, metadata: new Metadata() });
  },
  sendMessage() {},
  sendMessageWithContext() {},
  startRead() {},
  halfClose() {},
  cancelWithStatus() {},
  getPeer: () => '',
  getAuthContext: () => null,
});
