"""A model provider on the loopback: real wire formats, scripted replies, faults on demand."""

from allstop.testing.model_server.http_server import ModelServer as ModelServer
from allstop.testing.model_server.http_server import model_server as model_server
from allstop.testing.model_server.replies import Answer as Answer
from allstop.testing.model_server.replies import Answers as Answers
from allstop.testing.model_server.replies import Asked as Asked
from allstop.testing.model_server.replies import Call as Call
from allstop.testing.model_server.replies import Fault as Fault
from allstop.testing.model_server.replies import Protocol as Protocol
from allstop.testing.model_server.replies import Refused as Refused
from allstop.testing.model_server.replies import Say as Say
from allstop.testing.model_server.replies import envelope as envelope
