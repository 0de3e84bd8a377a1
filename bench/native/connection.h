/* A client's connection: one request at a time, whose answer is checked as it comes. */
#ifndef CONNECTION_H
#define CONNECTION_H

#include "answer.h"
#include "job.h"
#include "response.h"

struct connection;

/* State shared by all connections of a load. */
struct load {
  int epoll;
  const struct job *job;
  struct counts counts;
  /* Told of the first text of an answer, and of its end. */
  void (*begun)(struct connection *connection);
  void (*ended)(struct connection *connection, double now);
};

struct connection {
  struct load *load;
  int port;
  /* -1 while it is not connected. */
  int descriptor;
  bool busy;
  /* When its turn was wanted, by now_ms(). */
  double wanted_at;
  /* When the last bytes came. */
  double read_at;
  /* The request of its conversation, the turns that this still has, and how much of the request is sent. */
  const struct text *request;
  int turns_left;
  size_t sent;
  struct response response;
  struct answer answer;
  /* The body of an answer with another status. */
  struct text refusal;
};

void connection_init(struct connection *connection, struct load *load, int port);

/* Sends the request, connected if need be. */
void connection_send(struct connection *connection);

/* Handles an event of epoll: bytes have come, or can be sent. */
void connection_ready(struct connection *connection, unsigned events);

void connection_close(struct connection *connection);

#endif
