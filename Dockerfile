# One image for every service of docker-compose.yml; by itself it runs everything
# (`docker run -p 127.0.0.1:8000:8000 -v jenny:/data IMAGE`).
FROM python:3.13-slim-trixie

# git keeps the versions of memory files; pg_dump makes the backup before a migration.
RUN apt-get update \
    && apt-get install -y --no-install-recommends git postgresql-client \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 10001 --user-group --home-dir /app --no-create-home jenny \
    && install -d -o jenny -g jenny -m 700 /data

WORKDIR /app
COPY requirements.txt ./
RUN pip install --no-cache-dir --compile --require-hashes -r requirements.txt

COPY manage.py LICENSE ./
COPY jenny ./jenny
COPY memory ./memory
COPY wikis ./wikis
COPY settings_ui ./settings_ui
COPY templates ./templates
COPY static ./static
RUN python -m compileall -q jenny memory wikis settings_ui \
    && JENNY_DATA_DIR=/tmp/build python manage.py collectstatic --noinput -v 0 \
    && rm -rf /tmp/build

ENV PYTHONUNBUFFERED=1 \
    JENNY_DATA_DIR=/data \
    JENNY_HOST=0.0.0.0
USER jenny
VOLUME /data
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --start-interval=1s \
    CMD ["python", "-c", "import os, urllib.request as r; r.urlopen(f\"http://127.0.0.1:{os.environ.get('JENNY_PORT', 8000)}/health/ready\", timeout=4)"]
CMD ["python", "manage.py", "up"]
