"""Code that calls the gateway, with its address, a key and a model filled in: one piece for each client."""

import json
import shlex
from dataclasses import dataclass
from string import Template

NO_KEY = "YOUR_KEY"  #: stands in the place of a key that cannot be shown
PYTHON, SHELL, SCRIPT = "Python", "shell", "TypeScript"


@dataclass(frozen=True, slots=True)
class Snippet:
    """`code` has the places `$base` (with `/v1`), `$root`, `$key` and `$model`, each quoted for its language."""

    id: str
    title: str
    language: str
    code: str
    note: str = ""

    @property
    def rows(self) -> int:
        return self.code.count("\n") + 1

    def filled(self, *, root: str, key: str, model: str) -> "Snippet":
        """For this installation."""
        quoted = shlex.quote if self.language == SHELL else json.dumps
        values = {"base": f"{root}/v1", "root": root, "key": key, "model": model}
        code = Template(self.code).substitute({name: quoted(value) for name, value in values.items()})
        return Snippet(self.id, self.title, self.language, code, self.note)


SNIPPETS = (
    Snippet(
        "openai",
        "OpenAI",
        PYTHON,
        """from openai import OpenAI
client = OpenAI(base_url=$base, api_key=$key)
print(client.chat.completions.create(model=$model, messages=[{"role": "user", "content": "Hello"}])
      .choices[0].message.content)""",
    ),
    Snippet(
        "anthropic",
        "Anthropic",
        PYTHON,
        """from anthropic import Anthropic
client = Anthropic(base_url=$root, api_key=$key)
print(client.messages.create(model=$model, max_tokens=500, messages=[{"role": "user", "content": "Hello"}])
      .content[0].text)""",
    ),
    Snippet(
        "google",
        "Google",
        PYTHON,
        """from google import genai
client = genai.Client(api_key=$key, http_options={"base_url": $root})
print(client.models.generate_content(model=$model, contents="Hello").text)""",
    ),
    Snippet(
        "langchain",
        "LangChain",
        PYTHON,
        """from langchain_openai import ChatOpenAI
llm = ChatOpenAI(base_url=$base, api_key=$key, model=$model)
print(llm.invoke("Hello").content)""",
    ),
    Snippet(
        "litellm",
        "LiteLLM",
        PYTHON,
        """import litellm
answer = litellm.completion(model="openai/" + $model, api_base=$base, api_key=$key,
                            messages=[{"role": "user", "content": "Hello"}])
print(answer.choices[0].message.content)""",
    ),
    Snippet(
        "pydantic-ai",
        "Pydantic AI",
        PYTHON,
        """from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
agent = Agent(OpenAIChatModel($model, provider=OpenAIProvider(base_url=$base, api_key=$key)))
print(agent.run_sync("Hello").output)""",
    ),
    Snippet(
        "ai-sdk",
        "AI SDK",
        SCRIPT,
        """import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText } from "ai";
const whystop = createOpenAICompatible({ name: "whystop", baseURL: $base, apiKey: $key });
const { text } = await generateText({ model: whystop($model), prompt: "Hello" });
console.log(text);""",
    ),
    Snippet(
        "curl",
        "curl",
        SHELL,
        r"""export OPENAI_BASE_URL=$base OPENAI_API_KEY=$key MODEL=$model
curl "$$OPENAI_BASE_URL/chat/completions" \
  -H "Authorization: Bearer $$OPENAI_API_KEY" -H "Content-Type: application/json" \
  -d "{\"model\": \"$$MODEL\", \"messages\": [{\"role\": \"user\", \"content\": \"Hello\"}]}" """.rstrip(),
    ),
    Snippet(
        "otlp",
        "OpenTelemetry",
        SHELL,
        """export OTEL_EXPORTER_OTLP_ENDPOINT=$root
export OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf
export OTEL_EXPORTER_OTLP_HEADERS=authorization=Bearer%20$key""",
        "Sends the traces of an agent that runs elsewhere. A key with allowed models needs otlp among them.",
    ),
    Snippet(
        "agent-messages",
        "Coding agent (Anthropic API)",
        SHELL,
        """export ANTHROPIC_BASE_URL=$root
export ANTHROPIC_AUTH_TOKEN=$key
export ANTHROPIC_MODEL=$model""",
        "Use connection/model, or an agent whose Max tokens per call is high enough for long edits.",
    ),
    Snippet(
        "agent-responses",
        "Coding agent (OpenAI API)",
        SHELL,
        """export OPENAI_BASE_URL=$base
export OPENAI_API_KEY=$key
export OPENAI_MODEL=$model""",
        "An agent that reads a configuration file instead takes the same base URL, with the Responses API.",
    ),
)


def snippets_for(*, root: str, key: str, model: str) -> list[Snippet]:
    """All of them, for this installation."""
    return [snippet.filled(root=root, key=key or NO_KEY, model=model) for snippet in SNIPPETS]
