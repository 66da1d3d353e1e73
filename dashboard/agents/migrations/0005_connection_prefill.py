"""Whether a connection's models go on writing a cut answer themselves."""

from django.db import migrations, models

import dashboard.agents.validation


class Migration(migrations.Migration):
    dependencies = [("agents", "0004_policy_criteria")]

    operations = [
        migrations.AddField(
            model_name="connection",
            name="prefill",
            field=models.BooleanField(
                default=False,
                help_text="The model goes on writing a cut answer that ends the conversation, so it needs no hint to. "
                "Claude up to 4.5, llama.cpp, Ollama and vLLM can; others answer with an error, or begin again.",
            ),
        ),
        migrations.AlterField(
            model_name="connection",
            name="api_key_env",
            field=models.CharField(
                blank=True,
                default="",
                help_text="The name of the variable, such as OPENAI_API_KEY, never the key. Empty: no key is sent; "
                "Bedrock's calls are then signed with the environment's AWS credentials.",
                max_length=128,
                validators=[dashboard.agents.validation.api_key_env_valid],
                verbose_name="key's environment variable",
            ),
        ),
    ]
