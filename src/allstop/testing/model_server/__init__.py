"""A model provider on localhost: real wire formats, scripted replies, faults on demand."""

from allstop.testing.model_server.http_server import ModelServer as ModelServer
from allstop.testing.model_server.http_server import model_server as model_server
from allstop.testing.model_server.login_endpoint import Logins as Logins
from allstop.testing.model_server.replies import Answer as Answer
from allstop.testing.model_server.replies import Answers as Answers
from allstop.testing.model_server.replies import Call as Call
from allstop.testing.model_server.replies import ErrorReply as ErrorReply
from allstop.testing.model_server.replies import Fault as Fault
from allstop.testing.model_server.replies import Protocol as Protocol
from allstop.testing.model_server.replies import ReceivedRequest as ReceivedRequest
from allstop.testing.model_server.replies import Say as Say
from allstop.testing.model_server.replies import envelope as envelope
