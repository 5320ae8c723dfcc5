"""One settings module for all deployments; differences come from the environment.

``docs/settings.md`` lists every variable.
"""

import hashlib
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import dj_database_url
from django.utils.csp import CSP

from jenny import env, logs
from jenny.workspace import retention

BASE_DIR = Path(__file__).resolve().parent.parent
JENNY_VERSION = "0.1.0"
JENNY_DATA = env.data_folder()
env.protect(JENNY_DATA)

# --- Secrets and hosts -----------------------------------------------------------------------

SECRET_KEY = env.secret_key(JENNY_DATA)
DEBUG = False
JENNY_HOST = env.text("JENNY_HOST", "127.0.0.1")
JENNY_PORT = env.integer("JENNY_PORT", 8000, 1, 65535)
# Loopback names stay allowed beside the operator's: health checks use them.
ALLOWED_HOSTS = [*env.names("JENNY_ALLOWED_HOSTS"), "localhost", "127.0.0.1", "[::1]"]
CSRF_TRUSTED_ORIGINS = env.origins("JENNY_TRUSTED_ORIGINS")

# --- Applications ----------------------------------------------------------------------------

INSTALLED_APPS = [
    "jenny",
    "jenny.accounts",
    "jenny.chat",
    "memory",
    "wikis",
    "settings_ui",
    "django.contrib.admin.apps.SimpleAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django_htmx",
    "lucide",
    "django_celery_beat",
    "axes",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.middleware.csp.ContentSecurityPolicyMiddleware",
    "jenny.middleware.PermissionsPolicyMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "jenny.accounts.services.login.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "jenny.accounts.middleware.FirstRunMiddleware",
    "jenny.accounts.middleware.LoginMiddleware",
    "jenny.accounts.middleware.WorkspaceMiddleware",
    "axes.middleware.AxesMiddleware",
]

ROOT_URLCONF = "jenny.urls"
ASGI_APPLICATION = "jenny.asgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "jenny.views.page_context",
            ],
            "builtins": [
                "lucide.templatetags.lucide",
                "jenny.accounts.templatetags.own_forms",
            ],
        },
    }
]

# --- Database --------------------------------------------------------------------------------

# A request's thread ends with it, so each connection is closed at the end of its request or task.
# PostgreSQL's are pooled, since opening one takes a while there.
_DATABASE_URL = env.database_url()
if _DATABASE_URL:
    _database: dict[str, Any] = dict(dj_database_url.parse(_DATABASE_URL))
    if _database["ENGINE"] == "django.db.backends.postgresql":
        _database.setdefault("OPTIONS", {})["pool"] = {"min_size": 1, "max_size": 20}
    DATABASES = {"default": _database}
else:
    DATABASES = {
        "default": {
            "ENGINE": "jenny.runtime.sqlite",
            "NAME": JENNY_DATA.database,
            "OPTIONS": {
                "timeout": 20,
                "transaction_mode": "IMMEDIATE",
                "init_command": (
                    "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;PRAGMA mmap_size=134217728;"
                ),
            },
        }
    }
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# --- Accounts and sessions -------------------------------------------------------------------

AUTH_USER_MODEL = "accounts.Account"
AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "django.contrib.auth.backends.ModelBackend",
]
PASSWORD_HASHERS = [
    "django.contrib.auth.hashers.Argon2PasswordHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": 10},
    },
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
LOGIN_URL = "/login/"
LOGIN_REDIRECT_URL = "/chat/"
LOGOUT_REDIRECT_URL = "/login/"
# Cookies ignore ports, so instances on one host need names of their own.
_INSTANCE = hashlib.sha256(b"jenny cookies\0" + SECRET_KEY.encode()).hexdigest()[:8]
SESSION_COOKIE_NAME = f"jenny_session_{_INSTANCE}"
CSRF_COOKIE_NAME = f"jenny_csrf_{_INSTANCE}"
JENNY_MESSAGES_COOKIE = f"jenny_messages_{_INSTANCE}"
JENNY_DEVICE_COOKIE = f"jenny_device_{_INSTANCE}"
MESSAGE_STORAGE = "jenny.accounts.services.login.Messages"
SESSION_COOKIE_AGE = int(retention.SESSION.total_seconds())
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SAMESITE = "Lax"
CSRF_FAILURE_VIEW = "jenny.accounts.views.csrf_failure"
AXES_FAILURE_LIMIT = 8
AXES_COOLOFF_TIME = 0.25
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_RESET_ON_SUCCESS = True
AXES_LOCKOUT_CALLABLE = "jenny.accounts.views.locked_out"
AXES_CLIENT_IP_CALLABLE = "jenny.accounts.access.client_address"
AXES_USERNAME_CALLABLE = "jenny.accounts.access.throttled_name"
# Somebody else's attempts must not keep the owner out for ever.
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
AXES_DISABLE_ACCESS_LOG = True
AXES_ENABLE_ACCESS_FAILURE_LOG = False
AXES_VERBOSE = False

# --- Security --------------------------------------------------------------------------------

# A proxy that ends TLS is trusted only when the operator set an https origin, and only from its
# networks (``jenny.runtime.asgi_middleware``).
JENNY_TRUSTED_PROXIES = env.networks("JENNY_TRUSTED_PROXIES", env.PRIVATE_NETWORKS)
JENNY_BEHIND_TLS = any(origin.startswith("https://") for origin in CSRF_TRUSTED_ORIGINS)
if JENNY_BEHIND_TLS:
    SESSION_COOKIE_SECURE = True
    CSRF_COOKIE_SECURE = True
    SECURE_HSTS_SECONDS = 31536000
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CSP = {
    "default-src": [CSP.NONE],
    "script-src": [CSP.SELF],
    "style-src": [CSP.SELF],
    "img-src": [CSP.SELF, "data:"],
    "font-src": [CSP.SELF],
    "connect-src": [CSP.SELF],
    "manifest-src": [CSP.SELF],
    "worker-src": [CSP.SELF],
    "form-action": [CSP.SELF],
    "base-uri": [CSP.NONE],
    "frame-ancestors": [CSP.NONE],
    "object-src": [CSP.NONE],
}
# A message of a million characters, each escaped to twelve bytes in a form; larger bodies are
# refused before (``jenny.runtime.asgi_middleware``).
DATA_UPLOAD_MAX_MEMORY_SIZE = 16 * 1024 * 1024
# A list's form has a field for each row that was chosen, however far one has scrolled.
DATA_UPLOAD_MAX_NUMBER_FIELDS = 30_000

# --- Static files ----------------------------------------------------------------------------

STATIC_URL = "/static/"
STATIC_ROOT = BASE_DIR / "build" / "static"
# The library that draws diagrams is served from its package, without importing it.
_MERMAID = find_spec("artoo_mermaid")
STATICFILES_DIRS = [
    BASE_DIR / "static",
    *(
        [("mermaid", Path(_MERMAID.origin).parent / "assets")]
        if _MERMAID and _MERMAID.origin
        else []
    ),
]
JENNY_MERMAID = "mermaid/mermaid.min.js"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "jenny.static_files.StaticFilesStorage"},
}

# --- Numbers for Prometheus ------------------------------------------------------------------

JENNY_METRICS = env.choice("JENNY_METRICS", "off", ("off", "on"))
JENNY_METRICS_TOKEN = env.secret("JENNY_METRICS_TOKEN")

# --- Redis and the queue ---------------------------------------------------------------------

REDIS_URL = env.secret("REDIS_URL") or JENNY_DATA.redis_url
env.address("REDIS_URL", REDIS_URL, ("redis", "rediss", "unix"), is_secret=True)
JENNY_WORKER_THREADS = env.integer("JENNY_WORKER_THREADS", 64, 1, 512)

# --- Models ----------------------------------------------------------------------------------

JENNY_API_KEY = env.secret("ANTHROPIC_API_KEY")
JENNY_API_BASE_URL = env.text("ANTHROPIC_BASE_URL", "https://api.anthropic.com")
env.address("ANTHROPIC_BASE_URL", JENNY_API_BASE_URL, ("https", "http"))
JENNY_MODEL = env.text("JENNY_MODEL")

# --- Language, time, logs --------------------------------------------------------------------

LANGUAGE_CODE = "en"
USE_I18N = False
USE_TZ = True
TIME_ZONE = "UTC"
JENNY_TIME_ZONE = env.zone("JENNY_TIME_ZONE")
JENNY_LOG_FORMAT = env.choice("JENNY_LOG_FORMAT", "text", ("text", "json"))
LOGGING = logs.config(JENNY_LOG_FORMAT)
for _secret in (SECRET_KEY, JENNY_API_KEY, JENNY_METRICS_TOKEN, env.secret("JENNY_SETUP_TOKEN")):
    logs.hide(_secret)
