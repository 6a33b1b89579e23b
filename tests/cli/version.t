run version
out~ lossgate \d+\.\d+\.\d+
run --version
out~ lossgate \d+\.\d+\.\d+
