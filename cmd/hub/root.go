package main

import (
	"github.com/spf13/cobra"
)

// newRoot is the whole command line.
func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "hub",
		Short: "Many clients for one ZCode app-server",
		Long: `hub owns one ZCode app-server and lets many clients watch and steer it at the same time.

  hub demo     try it with a simulated app-server
  hub serve    run it with the real one

Every setting is a flag, a HUB_… variable and a key in the configuration file, in this order of precedence.`,
		SilenceErrors: true, // run prints them, once
		SilenceUsage:  true,
	}
	root.Version = readBuild().version
	root.SetVersionTemplate(versionText())
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveDefault)
	addFlags(root.PersistentFlags(), a.environ, forEveryCommand)
	completeWords(root, "log-level", logLevels...)
	completeWords(root, "log-format", logFormats...)
	root.AddCommand(
		newServeCommand(a),
		newDemoCommand(a),
		newSimulateCommand(a),
		newPairCommand(a),
		newShareCommand(a),
		newDevicesCommand(a),
		newTokenCommand(a),
		newKeysCommand(a),
		newAuditCommand(a),
		newStatusCommand(a),
		newPendingCommand(a),
		newAllowCommand(a),
		newDenyCommand(a),
		newWatchCommand(a),
		newSendCommand(a),
		newStopCommand(a),
		newACPCommand(a),
		newAttachCommand(a),
		newDoctorCommand(a),
		newConfigCommand(a),
		newVersionCommand(a),
	)
	return root
}

// showHelp is the RunE of a command that only holds others. Without one, a misspelt subcommand would be no error.
func showHelp(cmd *cobra.Command, _ []string) error { return cmd.Help() }

// completeWords lets the shell offer the words that a flag takes.
func completeWords(cmd *cobra.Command, flag string, words ...string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)) // fails only for a flag that does not exist
}

// body is a RunE that notes that the command line was good: errors from here on are not bad usage.
func (a *app) body(f func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		a.started = true
		return f(cmd, args)
	}
}

// configured is a body that gets the configuration too.
func (a *app) configured(f func(*cobra.Command, *config) error) func(*cobra.Command, []string) error {
	return a.configuredArgs(func(cmd *cobra.Command, c *config, _ []string) error { return f(cmd, c) })
}

// configuredArgs is configured for a command with arguments.
func (a *app) configuredArgs(f func(*cobra.Command, *config, []string) error) func(*cobra.Command, []string) error {
	return a.body(func(cmd *cobra.Command, args []string) error {
		c, err := loadConfig(cmd.Flags(), a.environ, defaultConfigFile(a.environ))
		if err != nil {
			return err
		}
		return f(cmd, c, args)
	})
}
