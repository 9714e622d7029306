package simulator

import "testing"

// TestEveryMethodAnswers makes one good call of each method, so that none is in the table for show.
func TestEveryMethodAnswers(t *testing.T) {
	inBubble(t, Options{}, func(s *sim) {
		id := s.open()
		s.prompt(id, "edit")
		ws := `"workspace":` + demoWorkspace
		sess := `"sessionId":"` + id + `"`
		watched := s.follow("conversation/"+id, "a", "desktop-continuous", "")
		topic := `"topic":"conversation/` + id + `","connectionId":"a"`
		owned := topic + `,"subscriptionId":"` + watched.id + `"`
		file := `"connectionId":"a",` + sess + `,"uploadId":"u"`
		params := map[string]string{
			"runtime/capabilities":                   `{}`,
			"process/childProcesses":                 `{}`,
			"session/create":                         `{` + ws + `,"mode":"plan","model":{"providerId":"demo","modelId":"demo-pro","options":{"reasoningLevel":"low"}},"persistence":"deferred","thoughtLevel":"unheard-of","titleGenerationEnabled":false,"toolDenylist":["Bash"],"mcpServers":[]}`,
			"session/resume":                         `{` + sess + `,` + ws + `}`,
			"session/list":                           `{` + ws + `,"limit":5,"includeArchived":true}`,
			"session/read":                           `{` + sess + `,"messageLimit":1,"contentProfile":"full","afterSeq":3}`,
			"session/messages":                       `{` + sess + `,"limit":1}`,
			"session/events":                         `{` + sess + `,"afterSeq":1,"limit":1}`,
			"session/subscribe":                      `{` + sess + `,"deliveryKind":"desktop-continuous"}`,
			"session/send":                           `{` + sess + `,"content":"hi","inputId":"i","queryId":"q","attachments":[{"kind":"image","filename":"a.png","dataBase64":"AA==","mimeType":"image/png","sizeBytes":1}]}`,
			"session/stop":                           `{` + sess + `}`,
			"session/setMode":                        `{` + sess + `,"mode":"build"}`,
			"session/setModel":                       `{` + sess + `,"model":{"providerId":"demo","modelId":"demo-pro"},"persistAsWorkspaceLastUsed":true}`,
			"session/setThoughtLevel":                `{` + sess + `,"thoughtLevel":"max"}`,
			"session/fork":                           `{` + sess + `,"target":{"kind":"latestCheckpoint"}}`,
			"session/compact":                        `{` + sess + `,"inputId":"c1"}`,
			"session/goal":                           `{` + sess + `,"action":"show"}`,
			"session/cancelBackgroundTask":           `{` + sess + `,"taskId":"none"}`,
			"session/subagents":                      `{` + sess + `,"endedLimit":1}`,
			"session/usage":                          `{` + sess + `}`,
			"session/debug":                          `{` + sess + `}`,
			"session/close":                          `{` + sess + `}`,
			"usage/stats":                            `{"range":"7d","timeZone":"Europe/Berlin"}`,
			"workspace/readPresentation":             `{` + ws + `}`,
			"workspace/updateInteractionPreferences": `{` + ws + `,"preferences":{"askUserQuestionAutoResolutionEnabled":true}}`,
			"workspace/updateModelIoPreferences":     `{` + ws + `,"preferences":{"fullRetentionEnabled":true}}`,
			"workspace/updateOffPeakToolPolicy":      `{` + ws + `}`,
			"workspace/updateDynamicWorkflowPolicy":  `{` + ws + `}`,
			"workspace/generateText":                 `{` + ws + `,"selection":{"providerId":"demo","modelId":"demo-flash"},"prompt":"x","querySource":"test"}`,
			"workspace/cancelGenerateText":           `{"operationId":"none"}`,
			"provider/updateAccountConfig":           `{"revision":3,"basedOnZCodeBuiltinRevision":1,"providers":{},"states":{"a":{"availability":"ok","entitled":true}}}`,
			"provider/testModelConnectivity":         `{}`,
			"mcp/list":                               `{}`,
			"skills/referenceCatalog":                `{}`,
			"v4/attachment/abort":                    `{` + file + `}`,
			"v4/attachment/begin":                    `{` + file + `,"fileName":"a.txt","mime":"text/plain","totalBytes":2,"totalChunks":1,"checksum":"sha256:8f434346648f6b96df89dda901c5176b10a6d83961dd3c1ac88b59b2dc327aa4"}`,
			"v4/attachment/chunk":                    `{` + file + `,"chunkIndex":0,"dataBase64":"aGk="}`,
			"v4/attachment/commit":                   `{` + file + `}`,
			"v4/command":                             `{"commandId":"c","clientId":"x",` + sess + `,"type":"renameSession","payload":{"title":"New"},"issuedAt":1}`,
			"v4/commands/query":                      `{"commands":[{` + sess + `,"commandId":"c"}]}`,
			"v4/connection/flow":                     `{"connectionId":"a","state":"drained"}`,
			"v4/conversation/backgroundBashOutput":   `{` + sess + `,"workId":"none"}`,
			"v4/conversation/plans":                  `{` + sess + `}`,
			"v4/conversation/resync":                 `{` + owned + `,"base":null}`,
			"v4/conversation/rowsRange":              `{` + sess + `,"limit":10}`,
			"v4/conversation/subscribe":              `{` + topic + `,"clientMode":"web-remote-replayable"}`,
			"v4/conversation/unsubscribe":            `{` + owned + `}`,
			"v4/conversation/usage":                  `{` + sess + `}`,
			"v4/usage/stats":                         `{"range":"7d"}`,
		}
		for name, fault := range map[string]string{"v4/attachment/read": "previewRefNotAuthorized",
			"v4/conversation/attachmentRead": "shareReadNotAuthorized", "v4/conversation/attachmentStat": "shareStatNotAuthorized"} {
			params[name] = ""
			s.fails(name, `{`+sess+`,"ref":"zcode-artifact://x","offset":0,"limit":1}`, -32603, "fault.attachment."+fault)
		}
		last := "session/close"
		for _, name := range sortedKeys(methods) {
			if _, ok := params[name]; !ok {
				t.Errorf("no call for %s", name)
			} else if name != last && params[name] != "" {
				s.result(name, params[name])
			}
		}
		if got := s.result(last, params[last]); got["closed"] != true {
			t.Errorf("close: %s", show(got))
		}
	})
}
