package main

import (
	"encoding/json"
	"path/filepath"
)

// asked says whether the settings describe a provider.
func (p *providerConfig) asked() bool {
	return p.BaseURL != "" || p.APIKey != "" || len(p.Models) > 0
}

func (p *providerConfig) check(bad *faults) {
	if !p.asked() {
		return
	}
	for _, need := range []struct {
		key    string
		absent bool
	}{
		{"provider.id", p.ID == ""},
		{"provider.api-type", p.APIType == ""},
		{"provider.base-url", p.BaseURL == ""},
		{"provider.api-key", p.APIKey == ""},
		{"provider.models", len(p.Models) == 0},
	} {
		if need.absent {
			bad.add("%s: is needed when any of provider.* is set", need.key)
		}
	}
}

// The personal provider file of the app-server (its schemaVersion 1); see the protocol notes on launching.
type (
	personalFile struct {
		SchemaVersion int            `json:"schemaVersion"`
		Config        personalConfig `json:"config"`
	}
	personalConfig struct {
		ProviderConfigRules providerRules `json:"providerConfigRules"`
		ModelConfigRules    modelRules    `json:"modelConfigRules"`
	}
	providerRules struct {
		ProviderRules []providerRule `json:"providerRules"`
	}
	modelRules struct {
		ProviderModelRules       []struct{} `json:"providerModelRules"`
		ManualProviderModelRules []struct{} `json:"manualProviderModelRules"`
	}
	providerRule struct {
		ProviderID   string         `json:"providerId"`
		ProviderName string         `json:"providerName"`
		Config       providerAccess `json:"config"`
	}
	providerAccess struct {
		Group  string `json:"group"`
		Access struct {
			Type   string `json:"type"`
			APIKey string `json:"apiKey"`
		} `json:"access"`
		API struct {
			Type    string `json:"type"`
			BaseURL string `json:"baseUrl"`
		} `json:"api"`
		PersonalModelIDs []string `json:"personalModelIds"`
		ModelOrder       []string `json:"modelOrder"`
	}
)

// rules is the provider in the app-server's own words; none without provider settings.
func (p *providerConfig) rules() []providerRule {
	if !p.asked() {
		return []providerRule{}
	}
	rule := providerRule{ProviderID: p.ID, ProviderName: p.Name}
	if rule.ProviderName == "" {
		rule.ProviderName = p.ID
	}
	rule.Config.Group = "standard-personal"
	rule.Config.Access.Type = "api-key"
	rule.Config.Access.APIKey = p.APIKey
	rule.Config.API.Type = p.APIType
	rule.Config.API.BaseURL = p.BaseURL
	rule.Config.PersonalModelIDs = p.Models
	rule.Config.ModelOrder = p.Models
	return []providerRule{rule}
}

// writePersonalFile puts the provider into dataDir, readable by this user only, and says where.
func (p *providerConfig) writePersonalFile(dataDir string) (string, error) {
	content, err := json.MarshalIndent(personalFile{
		SchemaVersion: 1,
		Config: personalConfig{
			ProviderConfigRules: providerRules{ProviderRules: p.rules()},
			ModelConfigRules: modelRules{
				ProviderModelRules:       []struct{}{},
				ManualProviderModelRules: []struct{}{},
			},
		},
	}, "", "  ")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dataDir, "provider.json")
	return path, writeFileAtomic(path, append(content, '\n'))
}
