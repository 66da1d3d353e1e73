/* A socket that is left while it still connects closes once it is open: browsers call anything earlier an error. */
htmx.createWebSocket = (url) => {
  const socket = new WebSocket(url, []);
  const close = socket.close.bind(socket);
  socket.close = (...why) => {
    if (socket.readyState === WebSocket.CONNECTING) socket.addEventListener("open", () => close(...why), { once: true });
    else close(...why);
  };
  return socket;
};
