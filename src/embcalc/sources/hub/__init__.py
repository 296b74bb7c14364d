"""Model repositories of the hub: listed in one request, read by byte ranges, cached where small.

The token, the cache, the endpoint and the offline switch are those of huggingface_hub.
"""
