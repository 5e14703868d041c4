curl -sN http://127.0.0.1:8080/message:stream -H 'A2A-Version: 1.0' -H 'Content-Type: application/json' \
  -d '{"message": {"messageId": "1", "role": "ROLE_USER", "parts": [{"text": "stream 3"}]}}'
curl -s 'http://127.0.0.1:8080/tasks?pageSize=1&includeArtifacts=true' -H 'A2A-Version: 1.0'
