#define _GNU_SOURCE
#include "connection.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { read_size = 256 * 1024 };

void connection_init(struct connection *connection, struct load *load, int port) {
  memset(connection, 0, sizeof *connection);
  connection->load = load;
  connection->port = port;
  connection->descriptor = -1;
}

static void connect_now(struct connection *connection) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)connection->port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) job_fail(strerror(errno));
  prepare_socket(descriptor);
  if (connect(descriptor, (struct sockaddr *)&address, sizeof address) < 0 && errno != EINPROGRESS) job_fail(strerror(errno));
  connection->descriptor = descriptor;
  /* Events are edge-triggered: the socket is read until it is empty, and a request that was sent in part is continued. */
  watch(connection->load->epoll, descriptor, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, connection);
}

static void send_more(struct connection *connection) {
  const struct text *request = connection->request;
  if (connection->sent == request->length) return;
  ssize_t sent = send(connection->descriptor, request->bytes + connection->sent, request->length - connection->sent, MSG_NOSIGNAL);
  if (sent > 0) connection->sent += (size_t)sent;
  else if (errno != EAGAIN && errno != ENOTCONN) job_fail(strerror(errno));
}

void connection_send(struct connection *connection) {
  connection->busy = true;
  connection->sent = 0;
  connection->refusal.length = 0;
  response_start(&connection->response);
  answer_start(&connection->answer, &connection->load->job->expected, &connection->load->counts);
  /* A connection that is not established yet sends when epoll reports that it is. */
  if (connection->descriptor < 0) connect_now(connection);
  else send_more(connection);
}

void connection_close(struct connection *connection) {
  if (connection->descriptor >= 0) close(connection->descriptor);
  connection->descriptor = -1;
}

static const char *take_piece(void *context, const char *bytes, size_t length) {
  struct connection *connection = context;
  int status = connection->load->job->status;
  if (connection->response.status != status) text_add(&connection->refusal, bytes, length);
  else if (status == 200 && connection->load->job->expected.tokens > 0) return answer_take(&connection->answer, bytes, length, connection->read_at);
  return NULL;
}

static void end_answer(struct connection *connection, double now) {
  const struct job *job = connection->load->job;
  if (connection->response.status != job->status) {
    struct text told = {0};
    text_format(&told, "Answered %d where %d was due: %.*s", connection->response.status, job->status, (int)connection->refusal.length, connection->refusal.bytes == NULL ? "" : connection->refusal.bytes);
    job_fail(told.bytes);
  }
  const char *wrong = job->expected.tokens > 0 ? answer_end(&connection->answer) : NULL;
  if (wrong != NULL) job_fail(wrong);
  connection->busy = false;
  connection->load->ended(connection, now);
}

static void take(struct connection *connection, const char *bytes, size_t length) {
  if (!connection->busy) job_fail("Bytes came where nothing was asked.");
  connection->read_at = now_ms();
  bool silent = connection->answer.first_at == 0;
  const char *wrong = response_take(&connection->response, bytes, length, take_piece, connection);
  if (wrong != NULL) job_fail(wrong);
  if (silent && connection->answer.first_at != 0) connection->load->begun(connection);
  if (connection->response.part == part_whole) end_answer(connection, connection->read_at);
}

void connection_ready(struct connection *connection, unsigned events) {
  static char bytes[read_size];
  if ((events & EPOLLOUT) && connection->busy) send_more(connection);
  if (!(events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR))) return;
  while (connection->descriptor >= 0) {
    ssize_t length = recv(connection->descriptor, bytes, sizeof bytes, 0);
    if (length < 0 && errno == EAGAIN) return;
    if (length <= 0) {
      if (connection->busy) job_fail(length < 0 ? strerror(errno) : "The connection was closed in an answer.");
      return connection_close(connection);
    }
    take(connection, bytes, (size_t)length);
    if ((size_t)length < sizeof bytes && !(events & EPOLLRDHUP)) return;
  }
}
